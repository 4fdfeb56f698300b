// Own losses and metrics: targets are aligned as in Keras 3, and samples are never mixed.
#include <cmath>

#include <stoker/losses.h>
#include <stoker/metrics.h>

#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

Loss squares() {
  return {"squares", [](const Value& y, const Value& p) { return ops::square(y - p); }};
}
// The form most Keras users write.
Loss mean_squares() {
  return {"mean_squares", [](const Value& y, const Value& p) {
            return ops::mean(ops::square(y - p), {.axes = {-1}});
          }};
}

Tensor ramp(const Shape& shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(float(i));
  return floats(values, shape);
}

double loss_of(const Loss& loss, const Tensor& y, const Tensor& p, const Tensor& weight = {}) {
  std::vector<Tensor> inputs = {y, p};
  if (weight.defined()) inputs.push_back(weight);
  return run(inputs,
             [&](Graph&, const Values& in) {
               return Values{loss(in[0], in[1], in.size() > 2 ? in[2] : Value())};
             })[0]
      .item();
}

double metric_of(const Metric& metric, const Tensor& y, const Tensor& p,
                 const Tensor& weight = {}) {
  std::vector<Tensor> inputs = {y, p};
  if (weight.defined()) inputs.push_back(weight);
  run(inputs, [&](Graph&, const Values& in) {
    metric.update(in[0], in[1], in.size() > 2 ? in[2] : Value());
    return Values{in[1]};
  });
  return metric.result();
}

bool has(const std::string& text, std::initializer_list<const char*> parts) {
  bool all = true;
  for (const char* part : parts) {
    all = all && text.find(part) != std::string::npos;
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
  }
  return all;
}

TEST(OwnLoss, OfAPerfectModelIsZeroForEveryPairOfShapes) {
  struct Pair {
    Shape y, p;
  };
  for (const Pair& pair :
       {Pair{{4}, {4, 1}}, Pair{{4, 1}, {4}}, Pair{{4}, {4}}, Pair{{4, 1}, {4, 1}},
        Pair{{2, 3}, {2, 3, 1}}, Pair{{2, 3, 1}, {2, 3}}, Pair{{2, 2, 2}, {2, 2, 2, 1}}})
    for (const Loss& loss : {squares(), mean_squares()})
      EXPECT_EQ(loss_of(loss, ramp(pair.y), ramp(pair.p)), 0)
          << loss.kind() << to_string(pair.y) << to_string(pair.p);
}

TEST(OwnLoss, AndItsBuiltInTwinAgree) {
  for (const Shape& shape : {Shape{4}, Shape{4, 1}})
    for (const char* name : {"mse", "mae", "huber", "binary_crossentropy"}) {
      Loss twin("twin",
                [&](const Value& y, const Value& p) { return Loss(name).per_sample(y, p); });
      Tensor y = floats({0, 1, 1, 0}, shape), p = floats({0.1F, 0.9F, 0.4F, 0.2F}, {4, 1});
      EXPECT_EQ(loss_of(twin, y, p), loss_of(name, y, p)) << name;
      EXPECT_EQ(loss_of(name, y, p), loss_of(name, y.reshape({4}), p.reshape({4}))) << name;
    }
}

TEST(OwnLoss, GetsNumbersOfThePredictionsDtypeButClassIdsAsTheyAre) {
  std::vector<TensorSpec> seen;
  Loss look("look", [&](const Value& y, const Value& p) {
    seen.push_back(y.spec());
    return ops::sum(p, {.axes = {-1}});
  });
  loss_of(look, Tensor::from<int32_t>({1, 0}, {2}), ramp({2, 1}));
  loss_of(look, Tensor::from<uint8_t>({1, 0, 0, 1, 0, 0}, {2, 3}), ramp({2, 3}));
  loss_of(look, Tensor::from<int32_t>({1, 0}, {2}), ramp({2, 3}));
  EXPECT_EQ(seen, (std::vector<TensorSpec>{
                      {DType::float32, {2, 1}}, {DType::float32, {2, 3}}, {DType::int32, {2}}}));
}

TEST(OwnLoss, ThatMixesSamplesIsAnErrorAtEveryBatchSize) {
  for (int64_t batch : {1, 3, 4}) {
    // Targets [B] beside predictions [B, 4]: a broadcast that fits by chance when B is 1 or 4.
    for (const Loss& loss : {squares(), mean_squares()})
      EXPECT_THROW(loss_of(loss, ramp({batch}), ramp({batch, 4})), ShapeError)
          << batch << loss.kind();
  }
  EXPECT_TRUE(has(message_of<ShapeError>([] {
                    loss_of(mean_squares(), ramp({4}), ramp({4, 4}));
                  }),
                  {"loss \"mean_squares\"", "[4]", "[4, 4]", "mixes the samples"}));
  Loss pairs("pairs",
             [](const Value&, const Value& p) { return ops::matmul(p, p, {.transpose_b = true}); });
  EXPECT_TRUE(has(message_of<ShapeError>([&] {
                    loss_of(pairs, ramp({4}), ramp({4, 2}));
                  }),
                  {"pairs", "one value per sample, [4]"}));
}

TEST(OwnLoss, OfClassIdsWorksWhenTheBatchIsAsLargeAsTheClasses) {
  Loss own("own", [](const Value& y, const Value& p) {
    return -ops::sum(ops::one_hot(y, p.shape()[-1]) * ops::log(p), {.axes = {-1}});
  });
  for (int64_t batch : {1, 3, 5}) {
    Tensor p = Tensor::full({batch, 3}, 1.0 / 3), y = Tensor::zeros({batch}, DType::int32);
    EXPECT_NEAR(loss_of(own, y, p), std::log(3.0), 1e-6) << batch;
  }
}

TEST(OwnLoss, ThatComparesTheSamplesOfABatchMayDoSo) {
  Loss spread("spread", [](const Value&, const Value& p) {
    return ops::mean(ops::matmul(p, p, {.transpose_b = true}), {.axes = {1}});
  });
  EXPECT_NEAR(loss_of(spread, ramp({2}), floats({1, 2, 3, 4}, {2, 2})), (5 + 11 + 11 + 25) / 4.0,
              1e-5);
}

TEST(OwnLoss, ReturnsOnePerSamplePerElementOrOneForTheBatch) {
  auto returning = [](const std::function<Value(const Value&)>& make) {
    return Loss("own", [make](const Value&, const Value& p) { return make(p); });
  };
  Tensor y = ramp({2}), p = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_NEAR(loss_of(returning([](const Value& v) { return ops::sum(v); }), y, p), 21, 1e-5);
  EXPECT_NEAR(loss_of(returning([](const Value& v) { return v; }), y, p), 3.5, 1e-5);
  EXPECT_TRUE(has(message_of<ShapeError>([&] {
                    loss_of(returning([](const Value& v) { return ops::sum(v, {.axes = {0}}); }), y,
                            p);
                  }),
                  {"one value per sample, [2]", "got [3]"}));
  EXPECT_TRUE(has(message_of<ShapeError>(
                      [&] { loss_of(returning([](const Value&) { return Value(); }), y, p); }),
                  {"undefined"}));
}

TEST(OwnLoss, OfTheWholeBatchCannotBeWeighted) {
  Loss whole("whole", [](const Value&, const Value& p) { return ops::sum(p); });
  EXPECT_TRUE(has(message_of<ShapeError>([&] { loss_of(whole, ramp({2}), ramp({2}), ramp({2})); }),
                  {"whole", "weights", "one value per sample"}));
}

TEST(OwnLoss, IsWeightedPerSampleOrPerElement) {
  Tensor y = Tensor::zeros({2, 3}), p = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_NEAR(loss_of(squares(), y, p, floats({1, 0.5F}, {2})), (14 + 0.5 * 77) / 6, 1e-5);
  EXPECT_NEAR(loss_of(squares(), y, p, floats({1, 0, 0, 0, 2, 0}, {2, 3})), (1 + 50) / 6.0, 1e-5);
  EXPECT_THROW(loss_of(squares(), y, p, ramp({2, 2})), ShapeError);
}

TEST(OwnLoss, RefusesTargetsOfAnotherBatch) {
  EXPECT_TRUE(has(message_of<ShapeError>([] {
                    loss_of(squares(), ramp({1}), ramp({4, 1}));
                  }),
                  {"squares", "one batch", "[1]", "[4, 1]"}));
  EXPECT_THROW(loss_of(squares(), ramp({}), ramp({4, 1})), ShapeError);
}

TEST(OwnLoss, ThatCannotMeetItsTargetsNamesBoth) {
  EXPECT_TRUE(has(message_of<ShapeError>([] {
                    loss_of(squares(), ramp({4, 2}), ramp({4, 3}));
                  }),
                  {"loss \"squares\"", "targets float32[4, 2]", "predictions float32[4, 3]"}));
}

TEST(OwnMetric, OfAPerfectModelIsPerfectForEveryPairOfShapes) {
  for (const Shape& shape : {Shape{4}, Shape{4, 1}})
    for (const Shape& predicted : {Shape{4}, Shape{4, 1}}) {
      Metric near("near",
                  [](const Value& y, const Value& p) { return ops::less(ops::abs(y - p), 0.5); });
      EXPECT_EQ(metric_of(near, ramp(shape), ramp(predicted)), 1);
      EXPECT_EQ(metric_of(near, ramp(shape).cast(DType::int32), ramp(predicted)), 1);
    }
}

TEST(OwnMetric, ThatMixesSamplesIsAnError) {
  Metric error("error", [](const Value& y, const Value& p) {
    return ops::mean(ops::abs(y - p), {.axes = {-1}});
  });
  for (int64_t batch : {1, 3, 4})
    EXPECT_THROW(metric_of(error, ramp({batch}), ramp({batch, 4})), ShapeError) << batch;
}

TEST(OwnMetric, CanBeForOneOutput) {
  Metric own("mine", [](const Value&, const Value& p) { return p; });
  Metric aimed = own.with({.name = "theirs", .output = "head"});
  EXPECT_EQ(aimed.name(), "theirs");
  EXPECT_EQ(aimed.output(), "head");
  EXPECT_TRUE(aimed.custom());
  EXPECT_FALSE(Metric("accuracy").custom());
  EXPECT_EQ(own.with({.output = "head"}).name(), "mine");
}

}  // namespace
}  // namespace stoker::test
