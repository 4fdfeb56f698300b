// How a step uses its team: the choice between the uses, and that none of them changes a bit.
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "engine/backend.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/team_use.h"
#include "engine/networks.h"
#include "engine/random_network.h"

namespace stoker::test {

namespace {

using cpu::AloneScope;
using cpu::TeamChooser;
using cpu::TeamUse;

constexpr int64_t kUs = 1'000;

// Steps whose length depends on how the team is used, and nothing else.
struct Steps {
  void run(int64_t total_ns) {
    for (int64_t ns = 0; ns < total_ns; ++step) {
      int64_t length = length_of(chooser.use(), step);
      spent[chooser.use()] += length;
      ns += length;
      chooser.observe(length);
    }
  }
  double share(TeamUse use) {
    double all = 0;
    for (auto [each, ns] : spent) all += double(ns);
    return double(spent[use]) / all;
  }
  std::function<int64_t(TeamUse, int64_t)> length_of;
  TeamChooser chooser{};
  int64_t step = 0;
  std::map<TeamUse, int64_t> spent = {};
};

Steps steps_of(int64_t spinning, int64_t sleeping, int64_t alone) {
  return {.length_of = [=](TeamUse use, int64_t) {
    return use == TeamUse::spinning ? spinning : use == TeamUse::sleeping ? sleeping : alone;
  }};
}

constexpr int64_t kSecond = 1'000'000'000;

TEST(TeamChooser, TakesTheFastestUse) {
  for (TeamUse fastest : {TeamUse::spinning, TeamUse::sleeping, TeamUse::alone}) {
    auto length = [&](TeamUse use) { return use == fastest ? 500 * kUs : 900 * kUs; };
    Steps steps =
        steps_of(length(TeamUse::spinning), length(TeamUse::sleeping), length(TeamUse::alone));
    steps.run(kSecond);
    EXPECT_EQ(steps.chooser.use(), fastest);
    steps.spent.clear();
    steps.run(60 * kSecond);
    EXPECT_GT(steps.share(fastest), 0.98) << "trials cost little";
  }
}

TEST(TeamChooser, BeginsAsItIsToldAndGoesOnMeasuring) {
  EXPECT_EQ(cpu::chooser_for(1e6, 1e6).use(), TeamUse::alone);
  EXPECT_EQ(cpu::chooser_for(1e11, 1e6).use(), TeamUse::spinning);
  Steps steps = steps_of(300 * kUs, 500 * kUs, 600 * kUs);
  steps.chooser = cpu::chooser_for(1e6, 1e6);
  steps.run(kSecond);
  EXPECT_EQ(steps.share(TeamUse::alone), 1) << "a short training of small steps tries nothing";
  steps.run(2 * kSecond);
  EXPECT_EQ(steps.chooser.use(), TeamUse::spinning);
}

TEST(TeamChooser, FindsTheBestOfThree) {
  Steps steps = steps_of(900 * kUs, 700 * kUs, 500 * kUs);
  steps.run(2 * kSecond);
  EXPECT_EQ(steps.chooser.use(), TeamUse::alone);
}

TEST(TeamChooser, LeavesTheTeamAloneForAGainThatIsNone) {
  Steps steps = steps_of(500 * kUs, 498 * kUs, 498 * kUs);
  steps.run(30 * kSecond);
  EXPECT_GT(steps.share(TeamUse::spinning), 0.95);
}

TEST(TeamChooser, BreaksOffATrialThatIsHopeless) {
  Steps steps = steps_of(500 * kUs, 50'000 * kUs, 50'000 * kUs);
  steps.run(60 * kSecond);
  EXPECT_GT(steps.share(TeamUse::spinning), 0.96);
}

TEST(TeamChooser, FollowsWhenTheCoresGetCrowded) {
  Steps steps = steps_of(500 * kUs, 600 * kUs, 600 * kUs);
  steps.run(20 * kSecond);
  EXPECT_EQ(steps.chooser.use(), TeamUse::spinning);
  steps.length_of = steps_of(5000 * kUs, 900 * kUs, 600 * kUs).length_of;
  steps.run(20 * kSecond);
  EXPECT_EQ(steps.chooser.use(), TeamUse::alone);
}

TEST(TeamChooser, DoesNotMindAPauseBetweenEpochs) {
  Steps steps{.length_of = [](TeamUse use, int64_t step) {
    int64_t pause = step % 50 == 49 ? 200'000 * kUs : 0;
    return pause + (use == TeamUse::alone ? 500 * kUs : 700 * kUs);
  }};
  steps.run(20 * kSecond);
  EXPECT_EQ(steps.chooser.use(), TeamUse::alone);
}

// As long as prefetched batches last, the team has all cores; then the pipeline wants some back.
TEST(TeamChooser, WaitsUntilThePrefetchedBatchesAreUsedUp) {
  TeamUse last = TeamUse::alone;
  int64_t changed = 0;
  Steps steps{.length_of =
                  [&](TeamUse use, int64_t step) {
                    if (use != last) changed = step;
                    last = use;
                    if (use == TeamUse::alone) return 480 * kUs;
                    return step - changed < 24 ? 300 * kUs : 1000 * kUs;
                  },
              .chooser = cpu::chooser_for(1e6, 1e6)};
  steps.run(60 * kSecond);
  EXPECT_EQ(steps.chooser.use(), TeamUse::alone);
  EXPECT_GT(steps.share(TeamUse::alone), 0.95);
}

TEST(TeamChooser, NeverRunsLongStepsAlone) {
  Steps steps = steps_of(300'000 * kUs, 300'000 * kUs, 600'000 * kUs);
  steps.run(120 * kSecond);
  EXPECT_EQ(steps.spent[TeamUse::alone], 0);
}

std::unique_ptr<Program> compiled(const Graph& graph) {
  CompileOptions options;
  options.threads = 3;
  return cpu_backend().compile(graph, options);
}

std::vector<Tensor> outputs_of(const Graph& graph, const std::vector<Tensor>& inputs, bool alone) {
  auto program = compiled(graph);
  AloneScope scope(alone);
  program->run(inputs);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) outputs.push_back(program->output(i));
  return outputs;
}

TEST(Alone, GivesTheTeamsBits) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomNetwork network(seed);
    SCOPED_TRACE(network.story);
    std::vector<Tensor> by_team = outputs_of(network.graph, network.inputs, false);
    std::vector<Tensor> by_one = outputs_of(network.graph, network.inputs, true);
    ASSERT_TRUE(by_team == by_one);
  }
}

TEST(Alone, MayComeAndGoBetweenStepsOfATraining) {
  for (auto make : {small_cnn, residual_network}) {
    auto expected = make(), got = make();
    auto by_team = compiled(expected->graph);
    auto by_turns = compiled(got->graph);
    for (int step = 0; step < 6; ++step) {
      by_team->run(expected->batch(step));
      AloneScope scope(step % 2 == 1);
      by_turns->run(got->batch(step));
    }
    for (size_t i = 0; i < got->variables.size(); ++i)
      EXPECT_TRUE(got->variables[i].read() == expected->variables[i].read())
          << got->variables[i].name();
  }
}

TEST(Alone, EndsWithItsScope) {
  {
    AloneScope outer(true), inner(false);
    EXPECT_TRUE(AloneScope::is_alone()) << "an inner scope takes nothing away";
  }
  EXPECT_FALSE(AloneScope::is_alone());
}

}  // namespace

}  // namespace stoker::test
