// Draws: a function of their key, the same on every engine, and of the distribution they name.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <stoker/ops.h>
#include <stoker/ops_random.h>

#include "engine/device_test.h"
#include "engine/run_graph.h"

namespace stoker::test {

namespace {

namespace draw = ops::random;

using Draws = std::function<Value()>;

class RandomOps : public DeviceTest {
 protected:
  // In a graph whose random state is {seed, step}.
  std::vector<double> run(const Draws& draws, int64_t step = 0, Backend* engine = nullptr) {
    Graph graph;
    Graph::Scope scope(graph, "test");
    graph.set_random_state(Value(graph.constant(Tensor::from<int64_t>({5, step}, {2}))));
    graph.output(ops::cast(draws(), DType::float32), "y");
    return run_graph(graph, {}, engine != nullptr ? *engine : device())[0].to_vector<double>();
  }

  static double mean_of(const std::vector<double>& values) {
    double sum = 0;
    for (double value : values) sum += value;
    return sum / double(values.size());
  }
  static double variance_of(const std::vector<double>& values) {
    double centre = mean_of(values), sum = 0;
    for (double value : values) sum += (value - centre) * (value - centre);
    return sum / double(values.size());
  }
};

constexpr int64_t kMany = 20000;

std::vector<std::pair<std::string, Draws>> distributions() {
  return {{"normal", [] { return draw::normal({kMany}, {.mean = 2, .stddev = 3}); }},
          {"truncated", [] { return draw::truncated_normal({kMany}); }},
          {"uniform", [] { return draw::uniform({kMany}, {.minval = -1, .maxval = 3}); }},
          {"randint", [] { return draw::randint({kMany}, 10, 20); }},
          {"gamma", [] { return draw::gamma({kMany}, 2.5); }},
          {"small gamma", [] { return draw::gamma({kMany}, 0.3); }},
          {"beta", [] { return draw::beta({kMany}, 2.0, 3.0); }},
          {"binomial", [] { return draw::binomial({kMany}, 20.0, 0.3); }},
          {"bernoulli", [] { return draw::bernoulli({kMany}, 0.25); }},
          {"gumbel", [] { return draw::gumbel({kMany}); }}};
}

// Mean and variance of each, in the order above.
const std::vector<std::pair<double, double>> kMoments = {
    {2, 9},     {0, 0.7737}, {1, 16.0 / 12}, {14.5, 8.25},   {2.5, 2.5},
    {0.3, 0.3}, {0.4, 0.04}, {6, 4.2},       {0.25, 0.1875}, {0.5772, 1.6449}};

TEST_P(RandomOps, HaveTheMomentsOfTheirDistribution) {
  auto all = distributions();
  ASSERT_EQ(all.size(), kMoments.size());
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].first);
    std::vector<double> drawn = run(all[i].second);
    auto [mean, variance] = kMoments[i];
    double deviation = std::sqrt(variance / double(kMany));
    EXPECT_NEAR(mean_of(drawn), mean, 4 * deviation);  // four deviations of a mean
    EXPECT_NEAR(variance_of(drawn) / variance, 1, 0.1);
  }
}

TEST_P(RandomOps, AreTheReferencesToTheLastBit) {
  for (const auto& [name, draws] : distributions()) {
    if (name == "beta") continue;  // a quotient of two draws
    EXPECT_EQ(run(draws), run(draws, 0, &backend("reference"))) << name;
  }
}

TEST_P(RandomOps, DifferFromStepToStepAndFromCallToCall) {
  for (const auto& [name, draws] : distributions()) {
    EXPECT_NE(run(draws, 0), run(draws, 1)) << name;
    EXPECT_EQ(run(draws, 3), run(draws, 3)) << name;
  }
  std::vector<double> both = run([] {
    return ops::concatenate({draw::normal({50}), draw::normal({50})}, 0);
  });
  EXPECT_NE(std::vector(both.begin(), both.begin() + 50),
            std::vector(both.begin() + 50, both.end()));
}

TEST_P(RandomOps, WithASeedAreAlwaysTheSame) {
  auto seeded = [] { return draw::normal({30}, {.seed = 9}); };
  EXPECT_EQ(run(seeded, 0), run(seeded, 7));
  EXPECT_NE(run(seeded), run([] { return draw::normal({30}, {.seed = 10}); }));
}

TEST_P(RandomOps, StayInTheirRange) {
  for (double value : run([] { return draw::truncated_normal({kMany}); }))
    EXPECT_LE(std::abs(value), 2.0001);
  for (double value : run([] { return draw::uniform({kMany}, {.minval = 0.5, .maxval = 0.75}); }))
    EXPECT_TRUE(value >= 0.5 && value < 0.75) << value;
  for (double value : run([] { return draw::randint({kMany}, -3, 4); }))
    EXPECT_TRUE(value >= -3 && value < 4 && value == std::floor(value)) << value;
}

TEST_P(RandomOps, CategoriesFollowTheirLogits) {
  std::vector<double> drawn = run([] {
    Value logits = Tensor::from<float>({0, std::log(3.0F), -INFINITY}, {1, 3});
    return draw::categorical(logits, 4000);
  });
  EXPECT_NEAR(mean_of(drawn), 0.75, 4 * std::sqrt(0.1875 / 4000));
}

TEST_P(RandomOps, AShuffleKeepsAllElements) {
  std::vector<double> drawn = run([] {
    std::vector<float> values(100);
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
    return draw::shuffle(Tensor::from(values, {100}));
  });
  EXPECT_FALSE(std::ranges::is_sorted(drawn));
  std::ranges::sort(drawn);
  for (size_t i = 0; i < drawn.size(); ++i) EXPECT_EQ(drawn[i], double(i));
}

TEST(RandomOpsOutsideAGraph, RefuseLimitsThatNoIntegerHas) {
  constexpr double kBeyond = std::numeric_limits<double>::infinity();
  for (double limit : {kBeyond, 1e300, 0x1p63})
    EXPECT_THROW(draw::uniform({3}, {.maxval = limit, .dtype = DType::int32, .seed = 1}),
                 ValueError)
        << limit;
}

TEST(RandomOpsOutsideAGraph, NeedASeed) {
  try {
    draw::normal({3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("give it a seed"));
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, RandomOps, ::testing::ValuesIn(device_names()), device_name);

}  // namespace

}  // namespace stoker::test
