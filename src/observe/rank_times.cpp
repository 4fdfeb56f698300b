#include "observe/rank_times.h"

#include <algorithm>
#include <array>
#include <span>

#include "train/fit/processes.h"
#include "train/model/trainer.h"

namespace stoker::doctor {

void RankTimes::add(const StepTimes& times) {
  ++epoch_.steps;
  epoch_.wall += times.end - times.asked;
  epoch_.input += times.ready - times.asked;
  epoch_.rows += times.samples;
}

void RankTimes::epoch_ended(const Trainer& trainer) {
  Processes* processes = processes_of(trainer);
  if (processes == nullptr) return;
  int64_t waited = trainer.distribution->waited_ns();
  auto steps = double(std::max<int64_t>(epoch_.steps, 1));
  std::array<double, 4> mine = {double(epoch_.wall) / steps, double(epoch_.input) / steps,
                                double(waited - waited_ns_) / steps, double(epoch_.rows) / steps};
  waited_ns_ = waited;
  epoch_ = {};
  auto count = size_t(processes->slice().size);
  std::vector<std::array<double, 4>> all(count);
  processes->all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  facts_.clear();
  for (size_t i = 0; i < count; ++i)
    facts_.push_back({.rank = int64_t(i),
                      .host = processes->host(int64_t(i)),
                      .step_ns = all[i][0],
                      .input_ns = all[i][1],
                      .wait_ns = all[i][2],
                      .rows = all[i][3]});
}

}  // namespace stoker::doctor
