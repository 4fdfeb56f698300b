// Loss and metrics of one mode (training, or evaluation): sums on the device, read on demand. An evaluation also sees whether predictions or targets held NaN: the metrics of that output
// are then NaN, where a comparison or an argmax would have made a plausible number of them.
// Training steps have their guard for that.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <stoker/history.h>
#include <stoker/losses.h>
#include <stoker/metrics.h>
#include <stoker/own_step.h>

namespace stoker {

struct MetricLists {
  const std::vector<Metric>&plain, &weighted;
};

class MetricSet : public LogSource {
 public:
  // Outputs are those that have a loss. One loss sum, one more for each output where there are
  // several and for each of `more_losses`, and for each output the metrics that ask for it; then
  // those that sample weights weigh. Names are Keras's: of two alike the second is "accuracy_1", or
  // "weighted_accuracy". ValueError when a metric names an output that does not exist.
  MetricSet(const MetricLists& metrics, const std::vector<std::string>& outputs,
            const std::vector<Shape>& shapes, const std::vector<std::string>& more_losses = {});

  // Of an own step, whose first trace says what there is.
  MetricSet() = default;
  // The logs of an own step: sums for its numbers, then its metrics. ValueError when an earlier trace
  // of `step` gave others.
  void take(const StepLogs& logs, const char* step);
  void append(Graph& graph, const StepLogs& logs, int64_t batch_size) const;

  // Appends to a step's graph: the loss of the whole, the losses beside it (of single outputs where
  // there are several, then `more_losses`), and the metrics.
  void append(Graph& graph, const Value& loss, const Values& losses_beside, const Values& targets,
              const Values& predictions, const Values& sample_weights, int64_t batch_size) const;
  void reset();
  // After a step of this many samples: what was read before is stale.
  void count(int64_t samples);
  int64_t samples() const { return samples_; }
  // The sums by name, for checkpoints; what was written to them counts with restore().
  std::vector<std::pair<std::string, Variable>> variables() const;
  void restore(int64_t samples);
  // How often a value was read from the device.
  int64_t reads() const { return reads_; }

  const std::vector<std::string>& names() const override { return names_; }
  double read(size_t index) const override;
  // "val_loss", … for the logs of an epoch.
  Logs with_prefix(const std::string& prefix) const;

 private:
  struct OutputMetric {
    Metric metric;
    size_t output;
    bool weighted;
  };
  void add_metrics(const std::vector<Metric>& metrics, const std::vector<std::string>& outputs,
                   bool weighted);
  std::string free_name(const std::string& prefix, const std::string& name, bool weighted) const;
  double read_metric(const OutputMetric& each) const;

  std::vector<Variable> loss_sums_;  // the whole, then those beside it
  std::vector<Variable> nan_seen_;   // one per output: 0, or NaN
  std::vector<OutputMetric> metrics_;
  std::vector<std::string> names_;
  int64_t samples_ = 0;
  int64_t version_ = 1;
  mutable std::vector<double> values_;
  mutable std::vector<int64_t> value_versions_;
  mutable int64_t reads_ = 0;
};

}  // namespace stoker
