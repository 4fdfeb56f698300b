#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::OnDevice;
using test::says;

TEST(RunPlan, RecordsWhatCanChangeABit) {
  OnDevice device("reference", 77);
  Sequential model({Input({2}), Dense(1)});
  model.compile({.loss = "mse"});
  test::Data data = test::line(8, 1);
  model.fit(data.x, data.y, {.batch_size = 4});
  RunPlan plan = model.run_plan();
  EXPECT_EQ(plan.seed, 77U);
  EXPECT_EQ(plan.batch_size, 4);
  EXPECT_GE(plan.compute_threads, 1);
  EXPECT_EQ(plan.backend, "reference");
  EXPECT_EQ(plan.library_version, version());
  EXPECT_TRUE(plan.deterministic);
  EXPECT_EQ(plan, model.run_plan());
  EXPECT_TRUE(says(to_string(plan), {"seed", "77", "reference"}));
}

TEST(RunPlan, SurvivesJson) {
  RunPlan plan{.seed = UINT64_MAX,
               .batch_size = 3,
               .compute_threads = 2,
               .backend = "cpu",
               .fingerprint = "a \"b\"\n"};
  EXPECT_EQ(run_plan_from_json(to_json(plan)), plan);
  EXPECT_THROW(run_plan_from_json("{"), ValueError);
  EXPECT_THROW(run_plan_from_json("[]"), ValueError);
  EXPECT_TRUE(
      says(error_of<ValueError>([] { run_plan_from_json("{\"seed\": true}"); }), {"\"seed\""}));
}

TEST(RunPlan, TellsWhatDiffers) {
  RunPlan here{.seed = 1, .compute_threads = 2}, there = here;
  EXPECT_TRUE(differences(here, there).empty());
  there.compute_threads = 4;
  there.deterministic = false;
  EXPECT_EQ(differences(here, there),
            (std::vector<std::string>{"compute_threads: 2 here, 4 there",
                                      "deterministic: true here, false there"}));
}

}  // namespace
}  // namespace stoker
