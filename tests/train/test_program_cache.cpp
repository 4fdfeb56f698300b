#include "train/helpers.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker {
namespace {

using test::OnDevice;

TEST(Programs, ARemainderGetsItsOwnAndTheyStay) {
  OnDevice device;
  Sequential model({Input({2}), Dense(1)});
  model.compile({.loss = "mse"});
  test::Data data = test::line(10, 1);
  const ProgramCache& programs = ModelAccess::base(model).trainer->programs;
  model.fit(data.x, data.y, {.epochs = 3, .batch_size = 4});
  EXPECT_EQ(programs.size(), 2U);
  model.evaluate(data.x, data.y, {.batch_size = 5});
  EXPECT_EQ(programs.size(), 3U);
  for (int64_t batch = 1; batch <= 10; ++batch)
    model.predict(data.x.slice(0, batch), {.batch_size = batch});
  EXPECT_EQ(programs.size(), 13U);
  model.compile({.loss = "mse"});
  EXPECT_EQ(programs.size(), 0U);
}

TEST(Programs, CompileAgainMovesToAnotherDevice) {
  Context reference{.device = "reference", .out = nullptr};
  Sequential model({Input({2}), Dense(1)});
  test::Data data = test::line(8, 1);
  model.compile({.optimizer = SGD({.learning_rate = 0}), .loss = "mse", .context = &reference});
  [[maybe_unused]] double there = model.evaluate(data.x, data.y)["loss"];
  EXPECT_EQ(model.run_plan().backend, "reference");
#ifndef STOKER_TSAN
  Context cpu{.device = "cpu", .out = nullptr};
  model.compile({.optimizer = SGD({.learning_rate = 0}), .loss = "mse", .context = &cpu});
  EXPECT_NEAR(model.evaluate(data.x, data.y)["loss"], there, 1e-5 * there);
  EXPECT_EQ(model.run_plan().backend, "cpu");
#endif
}

}  // namespace
}  // namespace stoker
