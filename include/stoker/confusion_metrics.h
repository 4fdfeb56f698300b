// Metrics from counts of right and wrong decisions, by Keras's names, options and defaults:
// thresholds, areas under curves, F scores, intersection over union. The counts are kept on the
// device, as whole numbers where there are no sample weights, so that they stay exact.
//
// Metrics with one result per threshold or class list them in Metric::results(); result() is the
// mean of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/metrics.h>

namespace stoker {

// --- at thresholds ---------------------------------------------------------------------------

// A prediction above a threshold says yes.
struct DecisionOptions {
  std::vector<double> thresholds = {};   // in [0, 1]; {}: 0.5, or with top_k none at all
  std::optional<int64_t> top_k = {};     // only the k largest of the last axis may say yes
  std::optional<int64_t> class_id = {};  // only this index of the last axis counts
  std::string name = "";
  std::string output = "";
};
Metric Precision(const DecisionOptions& options);
Metric Recall(const DecisionOptions& options);

struct CountOptions {
  std::vector<double> thresholds = {};  // {}: 0.5
  std::string name = "";
  std::string output = "";
};
Metric TruePositives(const CountOptions& options = {});
Metric TrueNegatives(const CountOptions& options = {});
Metric FalsePositives(const CountOptions& options = {});
Metric FalseNegatives(const CountOptions& options = {});

struct AtOptions {
  int64_t num_thresholds = 200;
  std::optional<int64_t> class_id = {};
  std::string name = "";
  std::string output = "";
};
// The best one that any threshold reaches while the other is at least this much.
Metric SensitivityAtSpecificity(double specificity, const AtOptions& options = {});
Metric SpecificityAtSensitivity(double sensitivity, const AtOptions& options = {});
Metric PrecisionAtRecall(double recall, const AtOptions& options = {});
Metric RecallAtPrecision(double precision, const AtOptions& options = {});

// --- the area under a curve ------------------------------------------------------------------

struct AUCOptions {
  int64_t num_thresholds = 200;
  std::string curve = "ROC";                       // PR, PRGAIN
  std::string summation_method = "interpolation";  // minoring, majoring
  std::string name = "";
  std::string output = "";
  std::vector<double> thresholds = {};  // in place of num_thresholds evenly spaced ones
  bool multi_label = false;             // an area per label of predictions [B, labels], averaged
  std::optional<int64_t> num_labels = {};
  std::vector<double> label_weights = {};
  bool from_logits = false;
};
Metric AUC(const AUCOptions& options = {});

// --- F scores --------------------------------------------------------------------------------

struct F1ScoreOptions {
  std::string average = "none";          // one per class; micro, macro, weighted
  std::optional<double> threshold = {};  // in (0, 1]; none: the largest of the classes says yes
  std::string name = "";
  std::string output = "";
};
struct FBetaScoreOptions {
  std::string average = "none";
  double beta = 1.0;  // how much more recall counts than precision
  std::optional<double> threshold = {};
  std::string name = "";
  std::string output = "";
};
Metric F1Score(const F1ScoreOptions& options = {});  // targets and predictions [B, classes]
Metric FBetaScore(const FBetaScoreOptions& options = {});

// --- intersection over union -----------------------------------------------------------------

// Class ids outside [0, num_classes) do not count. Not sparse: the largest value along `axis`.
struct IoUOptions {
  std::optional<int64_t> ignore_class = {};
  bool sparse_y_true = true;
  bool sparse_y_pred = true;
  int64_t axis = -1;
  std::string name = "";
  std::string output = "";
};
struct OneHotIoUOptions {
  std::optional<int64_t> ignore_class = {};
  bool sparse_y_pred = false;
  int64_t axis = -1;
  std::string name = "";
  std::string output = "";
};
struct BinaryIoUOptions {
  std::vector<int64_t> target_class_ids = {0, 1};
  double threshold = 0.5;  // a prediction of at least this much is class 1
  std::string name = "";
  std::string output = "";
};
Metric IoU(int64_t num_classes, const std::vector<int64_t>& target_class_ids,
           const IoUOptions& options = {});
Metric MeanIoU(int64_t num_classes, const IoUOptions& options = {});
Metric OneHotIoU(int64_t num_classes, const std::vector<int64_t>& target_class_ids,
                 const OneHotIoUOptions& options = {});
Metric OneHotMeanIoU(int64_t num_classes, const OneHotIoUOptions& options = {});
Metric BinaryIoU(const BinaryIoUOptions& options = {});

}  // namespace stoker
