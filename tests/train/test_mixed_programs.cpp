// User code in sixteen bits: own layers, functional models, lambdas and loops, written as for
// float32. The reference engine has sixteen-bit products, so these run everywhere.
#include <gtest/gtest.h>

#include <cmath>

#include "train/helpers.h"

namespace stoker::test {

namespace {

// Attention as it is written by hand, with a mask of the keys as a second input.
class OwnAttention : public LayerBase {
 public:
  std::string kind() const override { return "OwnAttention"; }
  void build(const std::vector<Shape>& inputs) override {
    int64_t width = inputs[0][-1];
    for (Variable* weight : {&query_, &key_, &value_})
      *weight = add_weight("w" + std::to_string(count_++), {width, width});
    seen_ = add_weight("seen", {}, {.initializer = "zeros", .trainable = false});
  }
  Values call(const Values& inputs, CallContext& context) override {
    const Value& x = inputs[0];
    int64_t length = x.shape()[1], width = x.shape()[2];
    Value scores =
        ops::matmul(ops::matmul(x, query_), ops::matmul(x, key_), {.transpose_b = true}) *
        float(1 / std::sqrt(double(width)));
    scores = scores + (1.0 - ops::reshape(inputs[1], {-1, 1, length})) * -1e9;
    Value causal = Tensor::from({0.0, -1e9, -1e9, 0.0, 0.0, -1e9, 0.0, 0.0, 0.0}, {3, 3});
    Value weights = ops::softmax(scores + causal);
    context.update(seen_, context.current(seen_) * 0.5 + ops::mean(weights));
    return {x + ops::matmul(weights, ops::matmul(x, value_)) / 2};
  }

 private:
  int count_ = 0;
  Variable query_, key_, value_, seen_;
};

struct Program {
  Model model;
  Tensor x, mask, y;
};

Program transformer() {
  Value ids = Input({3}, {.dtype = DType::int32}), mask = Input({3});
  Value x = Embedding(5, 8)(ids) * std::sqrt(8.0);
  x = Add()({x, Dense(8)(x)});
  x = make_layer<OwnAttention>()({x, mask});
  x = Lambda([](const Value& v) { return ops::maximum(v, 0.F) * 0.125F + 1e-12; })(x);
  x = ops::where(ops::greater(x, 1e9), 0, x) - Tensor::full({8}, 0.25);
  x = ops::concatenate({x, ops::cast(x, DType::float32)});
  Value classes = Dense(2, {.activation = "softmax"})(ops::mean(x, {.axes = {1}}));
  Model model(Values{ids, mask}, Values{classes});
  return {model, Tensor::from({0, 1, 2, 3, 4, 0}, {2, 3}),
          Tensor::from({1.0F, 1.0F, 0.0F, 1.0F, 1.0F, 1.0F}, {2, 3}), Tensor::from({0, 1}, {2})};
}

class MixedPrograms : public testing::TestWithParam<const char*> {
 protected:
  MixedPrograms() { set_global_policy(GetParam()); }
  ~MixedPrograms() override { set_global_policy("float32"); }
  OnDevice device_;
};
INSTANTIATE_TEST_SUITE_P(Policies, MixedPrograms,
                         testing::Values("float32", "mixed_bfloat16", "mixed_float16"),
                         [](const auto& policy) { return std::string(policy.param); });

TEST_P(MixedPrograms, AttentionWithMasksTrains) {
  Program program = transformer();
  program.model.compile(
      {.optimizer = Adam({.learning_rate = 0.02}), .loss = "sparse_categorical_crossentropy"});
  History history = program.model.fit({program.x, program.mask}, program.y,
                                      {.epochs = 30, .batch_size = 2, .verbose = 0});
  EXPECT_LT(history["loss"].back(), 0.5 * history["loss"].front());
  Tensor probabilities = program.model.predict({program.x, program.mask});
  for (float p : probabilities.values<float>()) EXPECT_TRUE(std::isfinite(p));
}

TEST_P(MixedPrograms, AnOwnLoopTakesNumbersOfAnyType) {
  Sequential model({Input({4}), Dense(8, {.activation = "relu"}), Dense(1)});
  Optimizer adam = LossScaleOptimizer(Adam({.learning_rate = 0.02}));
  auto step = function([&](Value x, Value y) {
    Value loss = ops::mean(ops::square(model(x) / 2 - y * 0.5F)) + 1e-9;
    adam.apply(gradients(adam.scale_loss(loss), model.trainable_variables()),
               model.trainable_variables());
    return loss;
  });
  Tensor x = normal({16, 4}, 3);
  Tensor target = Tensor::zeros({16, 1}) + 3;
  double first = step(x, target), last = first;
  for (int i = 0; i < 60; ++i) last = step(x, target);
  EXPECT_LT(last, 0.5 * first);
}

TEST(Pictures, AreDividedToFloatsInAGraph) {
  OnDevice device;
  Value picture = Input({2}, {.dtype = DType::uint8});
  Model model(picture, ops::concatenate({picture / 255, (picture - 128) / 128.0, picture * 0.5}));
  Tensor y = model.predict(Tensor::from<uint8_t>({0, 200}, {1, 2}));
  EXPECT_EQ(y, Tensor::from({0.0F, 200.0F / 255, -1.0F, 72.0F / 128, 0.0F, 100.0F}, {1, 6}));
}

TEST(HostTensors, BesideValuesStillBuildTheGraph) {
  OnDevice device;
  Tensor scale = Tensor::from({1.0, 2.0}, {2});
  auto step = function([&](Value x) { return scale * x + x / scale + (scale * 2 - 1) * x; });
  EXPECT_EQ(step(Tensor::from({1.0F, 1.0F}, {2})).tensor(), Tensor::from({3.0F, 5.5F}, {2}));
}

}  // namespace

}  // namespace stoker::test
