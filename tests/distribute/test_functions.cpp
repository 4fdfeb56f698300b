// Own loops inside a strategy's scope follow the loop on one device.
#include <gmock/gmock.h>

#include <optional>

#include "distribute/distributed_case.h"
#include "support/tsan.h"

namespace stoker::test {
namespace {

using ::testing::HasSubstr;

struct Looped {
  std::vector<double> losses;
  std::vector<Tensor> weights;
  Tensor predicted;
};

struct Loop {
  std::function<std::vector<Layer>()> layers = [] {
    return std::vector<Layer>{Input({12}), Dense(24, {.activation = "relu"}), Dense(4)};
  };
  std::function<Optimizer()> optimizer = [] { return Optimizer("adam"); };
  int64_t rows = 101, batch = 32;
};

class Functions : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { STOKER_SKIP_UNDER_TSAN(); }
  Context context_{.seed = 5, .threads = {.compute = 1}, .device = "cpu", .out = nullptr};

  Looped run(const Loop& loop) {
    Rows rows = make_rows(loop.rows);
    set_seed(5);
    Sequential model(loop.layers());
    Optimizer optimizer = loop.optimizer();
    auto step = function(
        [&](Value x, Value y) {
          Value loss = sparse_categorical_crossentropy(y, model(x), {.from_logits = true});
          Values slopes = gradients(optimizer.scale_loss(loss), model.trainable_variables());
          optimizer.apply(slopes, model.trainable_variables());
          return loss;
        },
        {.name = "step", .context = &context_});
    auto predict = function([&](Value x) { return model(x); },
                            {.training = false, .name = "predict", .context = &context_});
    Looped result;
    for (int epoch = 0; epoch < 2; ++epoch)
      for (int64_t begin = 0; begin < loop.rows; begin += loop.batch) {
        int64_t end = std::min(begin + loop.batch, loop.rows);
        result.losses.push_back(step(rows.x.slice(begin, end), rows.y.slice(begin, end)));
      }
    result.weights = model.get_weights();
    result.predicted = predict(rows.x).tensor();
    return result;
  }
  Looped run_mirrored(const Loop& loop, const MirroredOptions& more = {}) {
    MirroredOptions options = more;
    options.devices = logical_devices(GetParam());
    MirroredStrategy strategy(options);
    auto scope = strategy.scope();
    return run(loop);
  }
  static void expect_near(const Tensor& a, const Tensor& b, double bound) {
    ASSERT_EQ(a.shape(), b.shape());
    for (int64_t i = 0; i < a.elements(); ++i)
      ASSERT_NEAR(a.data<float>()[i], b.data<float>()[i], bound) << i;
  }
  static void expect_near(const Looped& a, const Looped& b, double bound = 1e-4) {
    ASSERT_EQ(a.losses.size(), b.losses.size());
    for (size_t i = 0; i < a.losses.size(); ++i)
      EXPECT_NEAR(a.losses[i], b.losses[i], bound) << "step " << i;
    ASSERT_EQ(a.weights.size(), b.weights.size());
    for (size_t i = 0; i < a.weights.size(); ++i) expect_near(a.weights[i], b.weights[i], bound);
    expect_near(a.predicted, b.predicted, 10 * bound);
  }
};

// The last batch has five rows, whatever the number of replicas.
TEST_P(Functions, FollowOneDevice) { expect_near(run({}), run_mirrored({})); }

TEST_P(Functions, FollowOneDeviceWhenABatchHasFewerRowsThanReplicas) {
  Loop loop{.rows = 33};
  expect_near(run(loop), run_mirrored(loop));
}

TEST_P(Functions, FollowOneDeviceWithAScaledLossAndAccumulatedGradients) {
  Loop loop{.optimizer = [] {
    return Optimizer(
        LossScaleOptimizer(Adam({.gradient_accumulation_steps = 2}), {.initial_scale = 1024}));
  }};
  expect_near(run(loop), run_mirrored(loop));
}

TEST_P(Functions, FollowOneDeviceWithSynchronizedBatchNormalization) {
  Loop loop{.layers =
                [] {
                  return std::vector<Layer>{Input({12}), Dense(24),
                                            BatchNormalization({.synchronized = true}),
                                            Activation("relu"), Dense(4)};
                },
            .rows = 96,
            .batch = 48};
  expect_near(run(loop), run_mirrored(loop), 5e-4);
}

TEST_P(Functions, HaveTheSameBitsWhereTheOptimizersStateIsShared) {
  Looped whole = run_mirrored({}), shared = run_mirrored({}, {.shard_optimizer = true});
  EXPECT_EQ(whole.losses, shared.losses);
  for (size_t i = 0; i < whole.weights.size(); ++i)
    EXPECT_EQ(whole.weights[i].to_vector<float>(), shared.weights[i].to_vector<float>());
}

// Each replica's assignment is of its own rows; what is left is that of the whole batch.
TEST_P(Functions, AverageWhatTheyAssign) {
  MirroredStrategy strategy({.devices = logical_devices(GetParam())});
  auto scope = strategy.scope();
  Variable mean("mean", Tensor::zeros({}));
  auto step = function([&](Value x) { mean.assign(ops::mean(x)); }, {.context = &context_});
  step(Tensor::from<float>({1, 2, 3, 4, 5, 6, 7}, {7}));
  EXPECT_NEAR(mean.read().item(), 4.0, 1e-6);
}

TEST_P(Functions, GiveScalarsToAllReplicas) {
  MirroredStrategy strategy({.devices = logical_devices(GetParam())});
  auto scope = strategy.scope();
  auto scaled = function([](Value x, Value factor) { return x * factor; }, {.context = &context_});
  Tensor x = Tensor::from<float>({1, 2, 3, 4, 5}, {5});
  EXPECT_EQ(scaled(x, Tensor(2.0F)).tensor().to_vector<float>(),
            (std::vector<float>{2, 4, 6, 8, 10}));
}

TEST_P(Functions, RunOnOneDeviceWhereTheyAreToldTo) {
  MirroredStrategy strategy({.devices = logical_devices(GetParam())});
  auto scope = strategy.scope();
  auto sum =
      function([](Value x) { return ops::sum(x); }, {.context = &context_, .replicated = false});
  EXPECT_EQ(double(sum(Tensor::from<float>({1, 2, 3, 4, 5}, {5}))), 15.0);
}

INSTANTIATE_TEST_SUITE_P(Replicas, Functions, ::testing::Values(1, 2, 3, 4));

class RefusedFunctions : public ::testing::Test {
 protected:
  void SetUp() override {
    STOKER_SKIP_UNDER_TSAN();
    strategy_.emplace(MirroredOptions{.devices = logical_devices(2)});
    scope_ = std::make_unique<Strategy::Scope>(*strategy_);
  }
  Context context_{.seed = 5, .threads = {.compute = 1}, .device = "cpu", .out = nullptr};
  std::optional<MirroredStrategy> strategy_;
  std::unique_ptr<Strategy::Scope> scope_;

  static void expect_message(const std::function<void()>& call, const std::string& part) {
    try {
      call();
      FAIL() << "expected an error that says " << part;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  }
};

TEST_F(RefusedFunctions, SayWhichArgumentHasOtherRows) {
  auto add = function([](Value x, Value y) { return ops::mean(x) + ops::mean(y); },
                      {.name = "add", .context = &context_});
  expect_message([&] { add(Tensor::zeros({4}), Tensor::zeros({3})); },
                 "add: argument 1 has 3 rows and another one 4");
}

TEST_F(RefusedFunctions, SayWhichResultCannotBeAveraged) {
  auto count = function([](Value x) { return ops::cast(ops::sum(x), DType::int64); },
                        {.name = "count", .context = &context_});
  expect_message([&] { count(Tensor::zeros({4})); }, "count: result 0 is int64[]");
}

TEST_F(RefusedFunctions, SayThatSynchronizedNormalizationNeedsEvenBatches) {
  Sequential model({Input({3}), Dense(4), BatchNormalization({.synchronized = true}), Dense(1)});
  Adam adam;
  auto step = function(
      [&](Value x) {
        Value loss = ops::mean(ops::square(model(x)));
        adam.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
        return loss;
      },
      {.context = &context_});
  expect_message([&] { step(Tensor::full({5, 3}, 1.0)); }, "2 replicas divide evenly, got 5 rows");
}

}  // namespace
}  // namespace stoker::test
