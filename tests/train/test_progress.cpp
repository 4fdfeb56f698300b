#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "train/fit/progress.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::says;

Progress half_way() {
  return {.title = "Epoch 3/20",
          .step = 500,
          .total = 1000,
          .seconds_per_step = 0.0041,
          .samples_per_second = 7790.4,
          .numbers = {"loss 0.1432", "accuracy 0.9561"},
          .status = "limit: input"};
}

int columns(const std::string& text) {
  int count = 0;
  for (char c : text) count += (uint8_t(c) & 0xC0) != 0x80;
  return count;
}

TEST(Progress, ShowsAllWhereThereIsRoom) {
  EXPECT_EQ(live_line(half_way(), {.live = true, .width = 200}),
            "Epoch 3/20  ━━━━━━━━━━━━━━━───────────────  500/1000  ETA 3 s  4.1 ms/step  7,790 "
            "samples/s  loss 0.1432  accuracy 0.9561  limit: input");
}

TEST(Progress, NeverIsWiderThanTheTerminal) {
  for (int width = 25; width < 200; ++width) {
    std::string line = live_line(half_way(), {.live = true, .width = width});
    EXPECT_LT(columns(line), width);
    EXPECT_TRUE(says(line, {"Epoch 3/20", "500/1000"}));
  }
  EXPECT_TRUE(says(live_line(half_way(), {.live = true, .width = 60}), {"loss", "━"}));
}

TEST(Progress, DoesWithoutATotal) {
  Progress progress = half_way();
  progress.total = {};
  std::string line = live_line(progress, {.live = true, .width = 120});
  EXPECT_TRUE(says(line, {"500 steps", "4.1 ms/step"}));
  EXPECT_EQ(line.find("ETA"), std::string::npos);
}

TEST(Progress, SurvivesTimesAndSharesThatAreNoNumbers) {
  EXPECT_EQ(progress_bar(std::nan(""), 10, false), progress_bar(0, 10, false));
  EXPECT_EQ(clock_time(std::nan("")), "0 s");
  EXPECT_FALSE(clock_time(std::numeric_limits<double>::infinity()).empty());
}

TEST(Progress, HasColourOnlyWhereItMay) {
  EXPECT_EQ(live_line(half_way(), {.live = true, .width = 100}).find('\x1b'), std::string::npos);
  EXPECT_NE(live_line(half_way(), {.live = true, .colour = true, .width = 100}).find('\x1b'),
            std::string::npos);
}

TEST(Progress, TellsTimesAsPeopleDo) {
  auto eta = [](double seconds) {
    Progress progress{.title = "", .step = 0, .total = 1, .seconds_per_step = seconds};
    return live_line(progress, {.live = true, .width = 100});
  };
  EXPECT_TRUE(says(eta(59), {"ETA 59 s", "59.00 s/step"}));
  EXPECT_TRUE(says(eta(61), {"ETA 1:01"}));
  EXPECT_TRUE(says(eta(3723), {"ETA 1:02:03"}));
  EXPECT_TRUE(says(eta(0.25), {"250 ms/step"}));
  EXPECT_TRUE(says(eta(2e-5), {"20 µs/step"}));
}

TEST(Progress, EndsInOneLine) {
  Progress progress = half_way();
  progress.seconds = 2.05;
  EXPECT_EQ(final_line(progress),
            "Epoch 3/20  500 steps  2.0 s  4.1 ms/step  7,790 samples/s  loss 0.1432  accuracy "
            "0.9561  limit: input");
  progress.status.clear();
  EXPECT_TRUE(final_line(progress).ends_with("accuracy 0.9561"));
}

TEST(ProgbarLogger, IsQuietInAPipeButForOneLineEach) {
  test::OnDevice device;
  test::Data data = test::line(10, 3);
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  std::ostringstream out;
  default_context().out = &out;
  model.fit(data.x, data.y, {.verbose = 2, .callbacks = {ProgbarLogger()}});
  model.evaluate(data.x, data.y, {.batch_size = 5, .verbose = 1});
  model.predict(data.x, {.batch_size = 5, .verbose = 1});
  std::string text = out.str();
  EXPECT_TRUE(says(text, {"Epoch 1/1  1 step  ", "\nevaluate  2 steps", "\npredict  2 steps"}));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace stoker
