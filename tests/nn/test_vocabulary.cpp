// What losses, metrics, initialisers, constraints and regularisers promise beside Keras's numbers, which
// test_parity compares: axes, masks, names, refusals, state.
#include <cmath>

#include <gmock/gmock.h>
#include <stoker/confusion_metrics.h>
#include <stoker/constraints.h>
#include <stoker/losses.h>

#include "nn/masks.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

using testing::HasSubstr;

double value_of(const Loss& loss, const Tensor& y_true, const Tensor& y_pred,
                const std::string& device = "reference") {
  return run({y_true, y_pred}, [&](Graph&, const Values& in) { return Values{loss(in[0], in[1])}; },
             {.device = device})[0]
      .item();
}

Tensor transposed(const Tensor& x) {  // [B, C, T] → [B, T, C]
  return run({x}, [](Graph&, const Values& in) {
    return Values{ops::transpose(in[0], {0, 2, 1})};
  })[0];
}

TEST(LossAxis, IsWhereTheClassesAre) {
  Tensor logits = random_tensor({2, 3, 4}, 1), last = transposed(logits);
  Tensor ids = floats({0, 1, 2, 0, 1, 1, 2, 2}, {2, 4});
  SparseCrossentropyOptions sparse{.from_logits = true};
  SparseCrossentropyOptions sparse_second = sparse;
  sparse_second.axis = 1;
  for (const std::string& device : devices()) {
    EXPECT_NEAR(value_of(SparseCategoricalCrossentropy(sparse_second), ids, logits, device),
                value_of(SparseCategoricalCrossentropy(sparse), ids, last, device), 1e-6);
    EXPECT_NEAR(
        value_of(CosineSimilarity({.axis = 1}), logits, random_tensor({2, 3, 4}, 2), device),
        value_of(CosineSimilarity(), last, transposed(random_tensor({2, 3, 4}, 2)), device), 1e-6);
  }
  EXPECT_NEAR(value_of(CategoricalCrossentropy({.from_logits = true, .axis = -2}), logits, logits),
              value_of(CategoricalCrossentropy({.from_logits = true}), last, last), 1e-6);
  EXPECT_THAT(
      message_of<ValueError>([&] { value_of(CosineSimilarity({.axis = 0}), logits, logits); }),
      HasSubstr("not the batch's"));
}

TEST(LossNames, AreKerasWithTheirShorthands) {
  for (const char* name : {"mse", "MSE", "mape", "MAPE", "msle", "kld", "KLD", "logcosh", "bce",
                           "kl_divergence", "KLDivergence", "ctc", "dice", "circle", "hinge"})
    EXPECT_TRUE(Loss(name).defined()) << name;
  EXPECT_THAT(message_of<ValueError>([] { Loss("mxe"); }), HasSubstr("squared_hinge"));
  EXPECT_THAT(message_of<ValueError>([] { MeanSquaredError({.reduction = "average"}); }),
              HasSubstr("mean_with_sample_weight"));
  EXPECT_THAT(message_of<ValueError>([] {
                Loss("mine", [](const Value& y, const Value& p) { return y - p; },
                     {.reduction = "average"});
              }),
              HasSubstr("mean_with_sample_weight"));
}

TEST(LossReduction, OfAnOwnLossIsKept) {
  Loss sum("mine", [](const Value& y, const Value& p) { return ops::abs(y - p); },
           {.reduction = "sum"});
  EXPECT_NEAR(value_of(sum, floats({1, 2}, {2, 1}), floats({0, 0}, {2, 1})), 3, 1e-6);
  EXPECT_EQ(sum.reduction(), "sum");
}

TEST(LossReduction, CountsWhatAMaskLeaves) {
  Tensor y = floats({1, 2, 3, 4}, {2, 2, 1}), p = Tensor::zeros({2, 2, 1});
  Tensor mask = Tensor::from<bool>({true, false, true, true}, {2, 2});
  for (const auto& [reduction, expected] : std::vector<std::pair<std::string, double>>{
           {"sum_over_batch_size", 26.0 / 3}, {"sum", 26}, {"mean_with_sample_weight", 26.0 / 3}}) {
    Loss loss = MeanSquaredError({.reduction = reduction});
    Tensor got = run({y, p, mask}, [&](Graph&, const Values& in) {
      Value prediction = in[1] * 1.0;
      set_mask(prediction, in[2], "test");
      return Values{loss(in[0], prediction)};
    })[0];
    EXPECT_NEAR(got.item(), expected, 1e-5) << reduction;
  }
}

TEST(CTC, IsInfiniteWhereNoAlignmentFits) {
  // Three labels, of which two repeat, need four steps.
  Tensor labels = Tensor::from<int32_t>({1, 1, 2}, {1, 3});
  EXPECT_TRUE(std::isinf(value_of(CTC(), labels, random_tensor({1, 3, 3}))));
  EXPECT_TRUE(std::isfinite(value_of(CTC(), labels, random_tensor({1, 4, 3}))));
  EXPECT_THAT(message_of<ShapeError>([&] {
                value_of(CTC(), labels, random_tensor({1, 3}));
              }),
              HasSubstr("[B, T, classes]"));
}

TEST(CTC, OfOneStepAndNoLabelIsTheBlank) {
  Tensor logits = floats({1, 2, 0.5F}, {1, 1, 3}), none = Tensor::from<int32_t>({0}, {1, 1});
  double blank = 1 - std::log(std::exp(1) + std::exp(2) + std::exp(0.5));
  for (const std::string& device : devices())
    EXPECT_NEAR(value_of(CTC(), none, logits, device), -blank, 1e-5);
}

// --- metrics -------------------------------------------------------------------------------------

void update(const Metric& metric, const std::vector<Tensor>& inputs, const std::string& device,
            bool masked = false) {
  run(inputs,
      [&](Graph&, const Values& in) {
        Value prediction = in[1];
        if (masked) {
          prediction = in[1] * 1.0;
          set_mask(prediction, in[2], "test");
        }
        metric.update(in[0], prediction, !masked && in.size() > 2 ? in[2] : Value());
        return Values{};
      },
      {.device = device});
}

TEST(ConfusionMetrics, LeaveOutWhatIsMasked) {
  Tensor y = floats({1, 0, 1, 1}, {2, 2, 1}), p = floats({0.9F, 0.8F, 0.2F, 0.7F}, {2, 2, 1});
  Tensor mask = Tensor::from<bool>({true, true, false, true}, {2, 2});
  for (const std::string& device : devices()) {
    Metric hits = TruePositives(), precision = Precision({.thresholds = {0.5}}), auc = AUC();
    for (const Metric& metric : {hits, precision, auc}) update(metric, {y, p, mask}, device, true);
    EXPECT_EQ(hits.result(), 2) << device;
    EXPECT_NEAR(precision.result(), 2.0 / 3, 1e-9) << device;
    EXPECT_NEAR(auc.result(), 0.5, 1e-6) << device;
  }
}

TEST(ConfusionMetrics, CountExactlyBeyondWhatAFloatCounts) {
  Metric hits = TruePositives();
  Variable counts = hits.state()[0];
  counts.write(Tensor::from<int64_t>({0, 0, 0, int64_t(1) << 24}, {4}));
  update(hits, {floats({1}, {1, 1}), floats({0.9F}, {1, 1})}, "reference");
  EXPECT_EQ(hits.result(), double((1 << 24) + 1));
  hits.reset();
  EXPECT_EQ(hits.result(), 0);
}

TEST(ConfusionMetrics, ListOneResultPerThresholdAsGiven) {
  Metric precision = Precision({.thresholds = {0.75, 0.25}});
  update(precision, {floats({1, 0}, {2, 1}), floats({0.9F, 0.5F}, {2, 1})}, "reference");
  EXPECT_EQ(precision.results(), (std::vector<double>{1, 0.5}));
  EXPECT_EQ(precision.result(), 0.75);
  EXPECT_EQ(precision.clone().results(), (std::vector<double>{0, 0}));
}

TEST(ConfusionMetrics, TakeOptionsOfOlderFiles) {
  Metric old("Precision", {{"threshold", 0.75}});
  update(old, {floats({1, 0}, {2, 1}), floats({0.9F, 0.7F}, {2, 1})}, "reference");
  EXPECT_EQ(old.result(), 1);
}

TEST(ConfusionMetrics, RefuseWhatTheyCannotCount) {
  EXPECT_THAT(message_of<ValueError>([] { Precision({.thresholds = {1.5}}); }),
              HasSubstr("between 0 and 1"));
  EXPECT_THAT(message_of<ValueError>([] { AUC({.curve = "RUC"}); }), HasSubstr("PRGAIN"));
  EXPECT_THAT(message_of<ValueError>([] { AUC({.num_labels = 3}); }), HasSubstr("multi_label"));
  EXPECT_THAT(message_of<ValueError>([] { IoU(3, {0, 3}); }), HasSubstr("class id 3"));
  EXPECT_THAT(message_of<ValueError>([] { F1Score({.average = "mean"}); }), HasSubstr("weighted"));
  EXPECT_THAT(message_of<ShapeError>([] { F1Score().build({4}); }), HasSubstr("[B, classes]"));
  EXPECT_THAT(message_of<ValueError>([] {
                update(Precision({.class_id = 2}), {floats({1, 0}, {1, 2}), floats({1, 0}, {1, 2})},
                       "reference");
              }),
              HasSubstr("class_id 2"));
}

TEST(ConfusionMetrics, TakeANaNForNoAnswer) {
  Tensor p = floats({std::nanf(""), 0.9F}, {2, 1});
  for (const std::string& device : devices()) {
    Metric auc = AUC(), positives = TruePositives();
    for (const Metric& metric : {auc, positives})
      update(metric, {floats({1, 1}, {2, 1}), p}, device);
    EXPECT_EQ(positives.result(), 1) << device;
  }
}

TEST(MeanAndSum, AreOfWhatIsAdded) {
  for (const std::string& device : devices()) {
    Metric mean = Mean(), sum = Sum();
    for (float value : {1.0F, 3.0F})
      run({floats({value, value + 1}, {2}), floats({1, 3}, {2})},
          [&](Graph&, const Values& in) {
            mean.add(in[0]);
            sum.add(in[0], in[1]);
            return Values{};
          },
          {.device = device});
    EXPECT_NEAR(mean.result(), 2.5, 1e-6);
    EXPECT_NEAR(sum.result(), 1 + 6 + 3 + 12, 1e-5);
  }
  EXPECT_THAT(message_of<Error>([] { AUC().add(Tensor::zeros({2})); }), HasSubstr("Mean and Sum"));
}

TEST(MeanIoU, IgnoresIdsThatAreNoClass) {
  Tensor y = floats({0, 1, 7, -1}, {4}), p = floats({0, 0, 1, 1}, {4});
  Metric metric = MeanIoU(2);
  update(metric, {y, p}, "reference");
  EXPECT_NEAR(metric.result(), 0.25, 1e-6);  // class 0: 1 of 2, class 1: 0 of 1
}

// --- initialisers --------------------------------------------------------------------------------

TEST(NewInitializers, GiveMatricesAndWhatAFunctionGives) {
  EXPECT_TRUE(near(IdentityInitializer(2)({2, 3}), {2, 0, 0, 0, 2, 0}));
  EXPECT_THAT(message_of<ShapeError>([] { IdentityInitializer()({2}); }), HasSubstr("a matrix"));
  Initializer matrix = Constant(floats({1, 2, 3, 4}, {2, 2}));
  EXPECT_TRUE(near(matrix({2, 2}), {1, 2, 3, 4}));
  EXPECT_TRUE(near(Initializer(matrix.kind(), matrix.config())({2, 2}), {1, 2, 3, 4}));
  EXPECT_THAT(message_of<ShapeError>([&] { matrix({4}); }), HasSubstr("[2, 2]"));
  Initializer own = [](const Shape& shape) { return Tensor::full(shape, 7); };
  EXPECT_TRUE(near(own({2}), {7, 7}));
  EXPECT_THAT(message_of<ShapeError>(
                  [] { Initializer([](const Shape&) { return Tensor::zeros({3}); })({2}); }),
              HasSubstr("expected [2], got [3]"));
}

TEST(Constraints, NameThoseThereAre) {
  EXPECT_THAT(message_of<ValueError>([] { Constraint("max_nrm"); }), HasSubstr("min_max_norm"));
  EXPECT_THAT(message_of<ValueError>([] { MaxNorm(-1); }), HasSubstr("at least 0"));
  Constraint shrinks = [](const Value& w) { return ops::sum(w); };
  EXPECT_THAT(message_of<ShapeError>([&] {
                run({floats({1, 2}, {2})},
                    [&](Graph&, const Values& in) { return Values{shrinks(in[0])}; });
              }),
              HasSubstr("like the weight"));
}

}  // namespace
}  // namespace stoker::test
