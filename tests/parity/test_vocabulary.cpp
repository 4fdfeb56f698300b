// The losses, metrics, constraints and regularisers of keras_vocabulary.py against Keras.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/confusion_metrics.h>
#include <stoker/constraints.h>
#include <stoker/losses.h>
#include <stoker/ops.h>
#include <stoker/regularizers.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

constexpr uint64_t kVocabularySeed = 7;
using Vocabulary = DeviceTest;

Tensor one_hot_rows(const Tensor& ids, int64_t classes) {
  Tensor result = Tensor::zeros({ids.shape()[0], classes});
  for (int64_t row = 0; row < ids.shape()[0]; ++row)
    result.data_mut<float>()[row * classes + ids.data<int64_t>()[row]] = 1;
  return result;
}

Tensor bits_of(uint64_t stream, const Shape& shape) {
  return drawn_integers(kVocabularySeed, stream, shape, 2).cast(DType::float32);
}

template <class Function>
Tensor mapped(Tensor tensor, Function function) {
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.data_mut<float>()[i] = function(tensor.data<float>()[i]);
  return tensor;
}

// --- losses --------------------------------------------------------------------------------------

struct Inputs {
  uint64_t seed = kVocabularySeed;
  Shape shape = {6, 5};
  Tensor labels = drawn_integers(seed, 0, {6}, 5);
  Tensor one_hot = one_hot_rows(labels, 5);
  Tensor bits = bits_of(1, shape);
  Tensor signs = mapped(bits_of(1, shape), [](float x) { return 2 * x - 1; });
  Tensor reals = drawn(seed, 2, shape, {.limit = 2});
  Tensor probabilities = drawn(seed, 3, shape, {.limit = 0.5, .centre = 0.5});
  Tensor logits = drawn(seed, 4, shape, {.limit = 4});
  Tensor weights = drawn(seed, 6, {6}, {.limit = 1, .centre = 1});
  Tensor counts = drawn_integers(seed, 90, shape, 4).cast(DType::float32);
  Tensor masks = bits_of(93, {4, 4, 6});
  Tensor mask_probabilities = drawn(seed, 94, {4, 4, 6}, {.limit = 0.5, .centre = 0.5});
  Tensor embeddings = drawn(seed, 95, {6, 3}, {.limit = 0.5});
  Tensor pairs = Tensor::from<int64_t>({0, 1, 0, 1, 2, 0}, {6});
  Tensor texts = Tensor::from<int64_t>({1, 2, 2, 3, 0, 0, 2, 1, 0}, {3, 3});
  Tensor text_logits = drawn(seed, 96, {3, 7, 4}, {.limit = 2});

  Tensor some_ignored() const {
    Tensor ids = drawn_integers(seed, 0, {6}, 5);
    ids.data_mut<int64_t>()[1] = ids.data_mut<int64_t>()[4] = -1;
    return ids;
  }
  // NumPy sums rows of five from left to right.
  Tensor shares() const {
    Tensor rows = drawn(seed, 3, shape, {.limit = 0.5, .centre = 0.5});
    for (int64_t row = 0; row < 6; ++row) {
      float* begin = rows.data_mut<float>() + row * 5;
      float sum = 0;
      for (int64_t i = 0; i < 5; ++i) sum += begin[i];
      for (int64_t i = 0; i < 5; ++i) begin[i] /= sum;
    }
    return rows;
  }
};

struct VocabularyLoss {
  std::string name;
  Loss loss;
  Tensor targets, predictions;
};

std::vector<VocabularyLoss> vocabulary_losses(const Inputs& in) {
  SparseCrossentropyOptions ignoring{.from_logits = true, .ignore_class = -1};
  SparseCrossentropyOptions ignoring_sum = ignoring;
  ignoring_sum.reduction = "sum";
  return {
      {"kl_divergence", KLDivergence(), in.shares(), in.probabilities},
      {"poisson", Poisson(), in.counts, in.probabilities},
      {"binary_focal", BinaryFocalCrossentropy(), in.bits, in.probabilities},
      {"binary_focal_balanced",
       BinaryFocalCrossentropy(
           {.apply_class_balancing = true, .alpha = 0.3, .gamma = 1.5, .label_smoothing = 0.125}),
       in.bits, in.probabilities},
      {"binary_focal_logits", BinaryFocalCrossentropy({.from_logits = true}), in.bits, in.logits},
      {"categorical_focal", CategoricalFocalCrossentropy(), in.one_hot, in.probabilities},
      {"categorical_focal_logits",
       CategoricalFocalCrossentropy({.alpha = {0.125, 0.25, 0.5, 0.25, 0.75},
                                     .gamma = 1.0,
                                     .from_logits = true,
                                     .label_smoothing = 0.125}),
       in.one_hot, in.logits},
      {"generalized", CategoricalGeneralizedCrossEntropy(), in.labels, in.probabilities},
      {"cosine_similarity", CosineSimilarity(), in.reals, in.logits},
      {"mape", "MAPE", in.reals, in.logits},
      {"msle", "msle", in.counts, in.logits},
      {"log_cosh", LogCosh(), in.reals, in.logits},
      {"hinge", Hinge(), in.signs, in.logits},
      {"hinge_bits", Hinge(), in.bits, in.logits},
      {"squared_hinge", SquaredHinge(), in.signs, in.logits},
      {"categorical_hinge", CategoricalHinge(), in.one_hot, in.logits},
      {"dice", Dice(), in.masks, in.mask_probabilities},
      {"dice_axis", Dice({.axis = {1, 2}}), in.masks, in.mask_probabilities},
      {"tversky", Tversky({.alpha = 0.25, .beta = 0.75}), in.masks, in.mask_probabilities},
      {"tversky_axis", Tversky({.axis = {1, 2}}), in.masks, in.mask_probabilities},
      {"circle", Circle({.gamma = 4}), in.pairs, in.embeddings},
      {"circle_diagonal", Circle({.gamma = 4, .margin = 0.25, .remove_diagonal = false}), in.pairs,
       in.embeddings},
      {"ctc", CTC(), in.texts, in.text_logits},
      {"sparse_ignored", SparseCategoricalCrossentropy(ignoring), in.some_ignored(), in.logits},
      {"mse_sum", MeanSquaredError({.reduction = "sum"}), in.reals, in.logits},
      {"mse_none", MeanSquaredError({.reduction = "none"}), in.reals, in.logits},
      {"mse_by_weights", MeanSquaredError({.reduction = "mean_with_sample_weight"}), in.reals,
       in.logits},
      {"ignored_sum", SparseCategoricalCrossentropy(ignoring_sum), in.some_ignored(), in.logits},
  };
}

TEST_P(Vocabulary, HasKerasLossesAndTheirGradients) {
  Recording recording("vocabulary");
  Inputs in;
  size_t results = 0;
  for (const VocabularyLoss& one : vocabulary_losses(in)) {
    std::string prefix = "loss/" + one.name + "/";
    bool weighted = recording.has(prefix + "weighted");
    std::vector<Tensor> outputs =
        run_once(device(), {one.targets, one.predictions, in.weights}, [&](const Values& traced) {
          const Value &y_true = traced[0], &y_pred = traced[1];
          Value value = one.loss(y_true, y_pred);
          Values all = {one.loss.per_element(y_true, y_pred), value,
                        gradients(ops::sum(value), Values{y_pred})[0]};
          if (weighted) all.push_back(one.loss(y_true, y_pred, traced[2]));
          return all;
        });
    const char* parts[] = {"values", "value", "gradient", "weighted"};
    for (size_t part = 0; part < outputs.size(); ++part, ++results)
      EXPECT_TRUE(agrees(outputs[part], recording.expected(prefix + parts[part])));
  }
  EXPECT_EQ(recording.names("loss/").size(), results);
}

// --- metrics -------------------------------------------------------------------------------------

struct MetricInputs {
  uint64_t step;
  uint64_t seed = kVocabularySeed;
  Shape shape = {16, 8};

  Tensor fractions(uint64_t stream, const Shape& of, int64_t below) const {
    return mapped(drawn_integers(seed, stream, of, below).cast(DType::float32),
                  [&](float x) { return x / float(below - 1); });
  }
  Tensor scores() const { return fractions(30 + step, shape, 5); }
  Tensor classes() const { return drawn_integers(seed, 40 + step, {16}, 8); }
  Tensor one_hot() const { return one_hot_rows(classes(), 8); }
  Tensor verdicts() const { return fractions(50 + step, {16, 1}, 9); }
  Tensor truths() const { return fractions(60 + step, {16, 1}, 2); }
  Tensor many_truths() const { return bits_of(64 + step, shape); }
  Tensor guesses() const { return drawn_integers(seed, 66 + step, {16}, 8); }
  Tensor numbers() const { return drawn(seed, 72 + step, shape, {.limit = 2}); }
  Tensor predicted() const { return drawn(seed, 74 + step, shape, {.limit = 2}); }
  Tensor raw() const { return drawn(seed, 76 + step, shape, {.limit = 4}); }
  Tensor weights() const { return drawn(seed, 70, {16}, {.limit = 1, .centre = 1}); }
};
using MetricDraw = Tensor (MetricInputs::*)() const;

struct VocabularyMetric {
  std::string name;
  Metric metric;
  MetricDraw targets, predictions;
  bool weighted = true;
};

std::vector<VocabularyMetric> vocabulary_metrics() {
  using In = MetricInputs;
  auto truths = &In::truths, verdicts = &In::verdicts, scores = &In::scores,
       many = &In::many_truths, one_hot = &In::one_hot, numbers = &In::numbers,
       predicted = &In::predicted, raw = &In::raw, classes = &In::classes, guesses = &In::guesses;
  return {
      {"precision_thresholds", Precision({.thresholds = {0.75, 0.25}}), truths, verdicts},
      {"precision_top", Precision({.top_k = 2}), one_hot, scores},
      {"recall_class", Recall({.class_id = 3}), one_hot, scores},
      {"recall_top_class", Recall({.top_k = 3, .class_id = 1}), one_hot, scores},
      {"true_positives", TruePositives(), truths, verdicts},
      {"true_negatives", TrueNegatives({.thresholds = {0.25, 0.5}}), truths, verdicts},
      {"false_positives", FalsePositives(), many, scores},
      {"false_negatives", FalseNegatives({.thresholds = {0.25}}), many, scores},
      {"sensitivity_at", SensitivityAtSpecificity(0.5), truths, verdicts},
      {"specificity_at", SpecificityAtSensitivity(0.5, {.num_thresholds = 20}), truths, verdicts},
      {"precision_at", PrecisionAtRecall(0.5), truths, verdicts},
      {"recall_at", RecallAtPrecision(0.5, {.num_thresholds = 1}), truths, verdicts},
      {"auc", AUC(), truths, verdicts},
      {"auc_pr", AUC({.curve = "PR"}), truths, verdicts},
      {"auc_pr_minoring", AUC({.num_thresholds = 9, .curve = "PR", .summation_method = "minoring"}),
       truths, verdicts},
      {"auc_majoring", AUC({.summation_method = "majoring", .thresholds = {0.3, 0.55, 0.9}}),
       truths, verdicts},
      {"auc_gain", AUC({.curve = "PRGAIN"}), truths, verdicts},
      {"auc_labels", AUC({.multi_label = true}), many, scores},
      {"auc_labels_pr",
       AUC({.curve = "PR", .multi_label = true, .label_weights = {1, 2, 3, 4, 0, 1, 2, 1.5}}), many,
       scores},
      {"auc_logits", AUC({.from_logits = true}), many, raw},
      {"f1", F1Score(), many, scores},
      {"f1_macro", F1Score({.average = "macro", .threshold = 0.5}), many, scores},
      {"fbeta_micro", FBetaScore({.average = "micro", .beta = 2, .threshold = 0.25}), many, scores},
      {"fbeta_weighted", FBetaScore({.average = "weighted", .beta = 0.5}), one_hot, scores},
      {"rmse", RootMeanSquaredError(), numbers, predicted},
      {"cosine_similarity", CosineSimilarityMetric(), numbers, predicted},
      {"pearson", PearsonCorrelation(), numbers, predicted},
      {"concordance", ConcordanceCorrelation(), numbers, predicted},
      {"r2", R2Score(), numbers, predicted},
      {"r2_variance",
       R2Score({.class_aggregation = "variance_weighted_average", .num_regressors = 3}), numbers,
       predicted},
      {"r2_each", R2Score({.class_aggregation = "none"}), numbers, predicted},
      {"mape", MeanAbsolutePercentageErrorMetric(), numbers, predicted},
      {"msle", MeanSquaredLogarithmicErrorMetric(), many, predicted},
      {"log_cosh", LogCoshError(), numbers, predicted},
      {"poisson", PoissonMetric(), many, scores},
      {"kl_divergence", KLDivergenceMetric(), one_hot, scores},
      {"hinge", HingeMetric(), many, predicted},
      {"squared_hinge", SquaredHingeMetric(), many, predicted},
      {"categorical_hinge", CategoricalHingeMetric(), one_hot, predicted},
      {"binary_crossentropy", BinaryCrossentropyMetric({.from_logits = true}), many, raw},
      {"categorical_crossentropy", CategoricalCrossentropyMetric({.label_smoothing = 0.125}),
       one_hot, scores},
      {"sparse_categorical_crossentropy",
       SparseCategoricalCrossentropyMetric({.from_logits = true}), classes, raw},
      {"iou", IoU(8, {1, 3, 4}), classes, guesses, false},
      {"mean_iou", MeanIoU(8, {.ignore_class = 2}), classes, guesses, false},
      {"one_hot_iou", OneHotIoU(8, {0, 5}), one_hot, raw, false},
      {"one_hot_mean_iou", OneHotMeanIoU(8), one_hot, raw, false},
      {"binary_iou", BinaryIoU({.threshold = 0.25}), many, scores, false},
  };
}

TEST_P(Vocabulary, HasKerasMetrics) {
  Recording recording("vocabulary");
  std::vector<VocabularyMetric> metrics = vocabulary_metrics();
  for (const VocabularyMetric& one : metrics) {
    Expected expected = recording.expected("metric/" + one.name);
    size_t each = size_t(expected.values.elements()) / 2;
    std::vector<float> got;
    for (uint64_t step : {0, 1}) {
      MetricInputs in{step};
      bool weighted = one.weighted && step == 1;
      run_once(device(), {(in.*one.targets)(), (in.*one.predictions)(), in.weights()},
               [&](const Values& inputs) {
                 one.metric.update(inputs[0], inputs[1], weighted ? inputs[2] : Value());
                 return Values{};
               });
      std::vector<double> results = one.metric.results();
      if (each == 1) results = {one.metric.result()};
      got.insert(got.end(), results.begin(), results.end());
    }
    ASSERT_EQ(got.size(), 2 * each) << one.name;
    EXPECT_TRUE(agrees(Tensor::from(got, {int64_t(got.size())}), expected)) << one.name;
  }
  EXPECT_EQ(recording.names("metric/").size(), metrics.size());
}

// --- constraints and regularisers ----------------------------------------------------------------

TEST_P(Vocabulary, HasKerasConstraints) {
  Recording recording("vocabulary");
  std::vector<std::pair<std::string, Constraint>> constraints = {
      {"max_norm", MaxNorm()},
      {"max_norm_rows", MaxNorm(1.5, {.axis = {1}})},
      {"max_norm_all", MaxNorm(3, {.axis = {0, 1}})},
      {"non_neg", "non_neg"},
      {"unit_norm", UnitNorm()},
      {"min_max_norm",
       MinMaxNorm({.min_value = 2.5, .max_value = 3.0, .rate = 0.75, .axis = {1}})}};
  for (const auto& [name, constraint] : constraints) {
    std::vector<Tensor> inside =
        run_once(device(), {drawn(kVocabularySeed, 97, {6, 4}, {.limit = 2})},
                 [&, &rule = constraint](const Values& in) { return Values{rule(in[0])}; });
    EXPECT_TRUE(agrees(inside[0], recording.expected("constraint/" + name)));
  }
  EXPECT_EQ(recording.names("constraint/").size(), constraints.size());
}

TEST_P(Vocabulary, HasKerasRegularizers) {
  Recording recording("vocabulary");
  std::vector<std::pair<std::string, Regularizer>> regularizers = {
      {"l1", L1(0.125)},
      {"l2", "l2"},
      {"l1_l2", L1L2(0.25, 0.5)},
      {"orthogonal_rows", OrthogonalRegularizer(0.5)},
      {"orthogonal_columns", OrthogonalRegularizer(0.25, "columns")}};
  for (const auto& [name, regularizer] : regularizers) {
    std::vector<Tensor> found =
        run_once(device(), {drawn(kVocabularySeed, 97, {6, 4}, {.limit = 2})},
                 [&, &rule = regularizer](const Values& in) {
                   Value penalty = rule(in[0]);
                   return Values{penalty, gradients(penalty, Values{in[0]})[0]};
                 });
    EXPECT_TRUE(agrees(found[0], recording.expected("regularizer/" + name + "/value")));
    EXPECT_TRUE(agrees(found[1], recording.expected("regularizer/" + name + "/gradient")));
  }
  EXPECT_EQ(recording.names("regularizer/").size(), 2 * regularizers.size());
}

INSTANTIATE_TEST_SUITE_P(Parity, Vocabulary, kDevices, device_name);

}  // namespace
}  // namespace stoker
