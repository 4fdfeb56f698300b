#include "observe/whole_fit.h"

#include <algorithm>
#include <utility>

namespace stoker::doctor {

void WholeFit::add(const StepTimes& step) {
  looked_ns_ += step.looked;
  steps_ns_ += step.end - step.asked + step.looked;
  if (steps_++ == 0) return;  // it compiles, and its batch is the pipeline's first
  epoch_.input += step.ready - step.asked;
  epoch_.sync += step.run - step.ready + step.end - step.ran;
  epoch_.wall += step.end - step.asked + step.looked;
}

EpochWaits WholeFit::take_epoch() {
  waited_ns_ += epoch_.input + epoch_.sync;
  return std::exchange(epoch_, {});
}

void WholeFit::add(const EpochTimes& epoch, const StepTimes& last) {
  if (last.epoch == epoch.epoch && last.end > epoch.first_step)
    steps_ns_ += epoch.last_step - last.end;
  read_ns_ += epoch.read - epoch.last_step;
  validation_ns_ += epoch.validated - epoch.read;
  int64_t turns = epoch.first_step - epoch.begin + epoch.end - epoch.validated;
  turns_ns_ += turns;
  if (std::exchange(first_, false)) return;
  ++later_.count;
  later_.steps_ns += double(epoch.read - epoch.first_step);
  later_.validation_ns += double(epoch.validated - epoch.read);
  later_.turn_ns += double(turns);
}

EpochFacts WholeFit::epochs() const {
  EpochFacts mean = later_;
  double count = std::max(1.0, double(later_.count));
  for (double* ns : {&mean.steps_ns, &mean.validation_ns, &mean.turn_ns}) *ns /= count;
  return mean;
}

FitShares WholeFit::shares(int64_t wall) const {
  if (wall <= 0) return {};
  auto share = [wall](int64_t ns) { return double(ns) / double(wall); };
  return {.seconds = double(wall) * 1e-9,
          .steps = share(steps_ns_),
          .read_back = share(read_ns_),
          .validation = share(validation_ns_),
          .epoch_turns = share(turns_ns_),
          .unexplained = share(wall - steps_ns_ - read_ns_ - validation_ns_ - turns_ns_)};
}

double WholeFit::looked_seconds() const {
  return steps_ > 0 ? double(looked_ns_) * 1e-9 / double(steps_) : 0;
}

}  // namespace stoker::doctor
