// Metrics with state of their own, on every device.
#include <cmath>

#include <stoker/metrics.h>

#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

// Mean intersection over union: a matrix of counts, from which the host computes.
class MeanIoU : public MetricBase {
 public:
  explicit MeanIoU(int64_t classes)
      : classes_(classes), counts_(add_variable("counts", {classes, classes})) {}
  std::string kind() const override { return "MeanIoU"; }
  Attrs config() const override { return {{"classes", classes_}}; }
  void update_state(const Value& y_true, const Value& y_pred, const Value& sample_weight) override {
    int64_t elements = y_true.shape().elements();
    Value actual = ops::reshape(ops::one_hot(y_true, classes_), {elements, classes_});
    Value predicted =
        ops::reshape(ops::one_hot(ops::argmax(y_pred), classes_), {elements, classes_});
    Value weight = ops::reshape(weights_of(y_true, sample_weight), {elements, 1});
    assign_add(counts_, ops::matmul(actual * weight, predicted, {.transpose_a = true}));
  }
  double result() const override {
    Tensor counts = counts_.read();
    double sum = 0;
    for (int64_t id = 0; id < classes_; ++id) {
      double both = counts.at(id * classes_ + id), either = -both;
      for (int64_t other = 0; other < classes_; ++other)
        either += counts.at(id * classes_ + other) + counts.at(other * classes_ + id);
      sum += either > 0 ? both / either : 0;
    }
    return sum / double(classes_);
  }

 private:
  int64_t classes_;
  Variable counts_;
};

class LargestError : public MetricBase {
 public:
  LargestError() : largest_(add_variable("largest", {}, {.initializer = Constant(-1)})) {}
  std::string kind() const override { return "LargestError"; }
  void update_state(const Value& y_true, const Value& y_pred, const Value&) override {
    assign(largest_, ops::maximum(current(largest_), ops::max(ops::abs(y_true - y_pred))));
  }
  double result() const override { return largest_.read().item(); }

 private:
  Variable largest_;
};

void step(const Metric& metric, const Tensor& y, const Tensor& p, const std::string& device,
          const Tensor& weight = {}) {
  std::vector<Tensor> inputs = {y, p};
  if (weight.defined()) inputs.push_back(weight);
  run(inputs,
      [&](Graph&, const Values& in) {
        metric.update(in[0], in[1], in.size() > 2 ? in[2] : Value());
        return Values{in[1]};
      },
      {.device = device});
}

TEST(OwnState, AddsUpOverStepsUntilReset) {
  for (const std::string& device : devices()) {
    Metric metric = make_metric<LargestError>();
    step(metric, floats({0, 0}, {2}), floats({1, -3}, {2, 1}), device);
    EXPECT_EQ(metric.result(), 3) << device;
    step(metric, floats({0, 0}, {2}), floats({2, 1}, {2, 1}), device);
    EXPECT_EQ(metric.result(), 3) << device;
    metric.reset();
    EXPECT_EQ(metric.result(), -1) << device;
    step(metric, floats({0, 0}, {2}), floats({2, 1}, {2, 1}), device);
    EXPECT_EQ(metric.result(), 2) << device;
  }
}

TEST(OwnState, OfAMatrixCountsPixels) {
  Tensor y = Tensor::from<int32_t>({0, 1, 1, 0}, {2, 2});
  Tensor p = floats({1, 0, 0, 1, 1, 0, 1, 0}, {2, 2, 2});  // classes 0, 1, 0, 0
  for (const std::string& device : devices()) {
    Metric metric = make_metric<MeanIoU>(2);
    step(metric, y, p, device);
    EXPECT_NEAR(metric.result(), (2.0 / 3 + 1.0 / 2) / 2, 1e-12) << device;
    metric.reset();
    step(metric, y, p, device, floats({1, 1, 0, 1}, {2, 2}));  // the wrong pixel does not count
    EXPECT_NEAR(metric.result(), 1, 1e-12) << device;
    metric.reset();
    step(metric, y, p, device, floats({1, 0}, {2}));  // nor does the wrong picture
    EXPECT_NEAR(metric.result(), 1, 1e-12) << device;
  }
}

TEST(OwnState, BelongsToEachClone) {
  Metric metric = make_metric<MeanIoU>(2).with({.name = "iou", .output = "mask"});
  Metric copy = metric.clone();
  step(metric, Tensor::from<int32_t>({0}, {1}), floats({1, 0}, {1, 2}), "reference");
  EXPECT_EQ(metric.state()[0].read().at(0), 1);
  EXPECT_EQ(copy.state()[0].read().at(0), 0);
  EXPECT_EQ(copy.name(), "iou");
  EXPECT_EQ(copy.output(), "mask");
  EXPECT_EQ(copy.kind(), "MeanIoU");
  EXPECT_EQ(copy.config(), (Attrs{{"classes", int64_t(2)}}));
  EXPECT_TRUE(copy.custom());
  EXPECT_EQ(copy.state()[0].name(), "iou/counts");
  EXPECT_EQ(copy.state()[0].category(), MemoryCategory::metrics);
  EXPECT_EQ(make_metric<MeanIoU>(2).name(), "mean_io_u");
}

TEST(OwnState, UpdatedTwiceInOneStepCountsBoth) {
  Metric metric = make_metric<MeanIoU>(2);
  run({Tensor::from<int32_t>({0}, {1}), floats({1, 0}, {1, 2})}, [&](Graph&, const Values& in) {
    metric.update(in[0], in[1]);
    metric.update(in[0], in[1]);
    return Values{in[1]};
  });
  EXPECT_EQ(metric.state()[0].read().at(0), 2);
}

class Late : public MetricBase {
 public:
  std::string kind() const override { return "Late"; }
  void update_state(const Value&, const Value&, const Value&) override { add_variable("late"); }
  double result() const override { return 0; }
};

TEST(OwnState, IsMadeByTheConstructor) {
  std::string text = message_of<Error>(
      [] { step(make_metric<Late>(), floats({0}, {1}), floats({0}, {1}), "reference"); });
  EXPECT_NE(text.find("constructor"), std::string::npos) << text;
}

TEST(OwnState, MayNotHoldAnotherShape) {
  class Wrong : public MetricBase {
   public:
    Wrong() : sum_(add_variable("sum")) {}
    std::string kind() const override { return "Wrong"; }
    void update_state(const Value&, const Value& p, const Value&) override { assign_add(sum_, p); }
    double result() const override { return 0; }

   private:
    Variable sum_;
  };
  EXPECT_THROW(step(make_metric<Wrong>(), floats({0, 0}, {2}), floats({0, 0}, {2}), "reference"),
               ShapeError);
}

}  // namespace
}  // namespace stoker::test
