// Pruning, the callback.
#include <cmath>

#include <fmt/format.h>
#include <stoker/prune.h>

#include "compress/masks.h"
#include "train/callbacks/callback_support.h"

namespace stoker {

namespace {

void check_schedule(const PolynomialSparsity& schedule, const PruneOptions& options) {
  compress::check_sparsity(schedule.initial_sparsity, "initial_sparsity");
  auto fail = [](const std::string& what) { throw ValueError("Pruning: " + what); };
  if (schedule.begin_step < 0 || schedule.end_step <= schedule.begin_step)
    fail(fmt::format("begin_step is {} and end_step {}, expected 0 or more, and a later one",
                     schedule.begin_step, schedule.end_step));
  if (schedule.frequency < 1)
    fail(fmt::format("frequency is {}, expected 1 or more", schedule.frequency));
  if (!(schedule.power > 0)) fail(fmt::format("power is {}, expected more than 0", schedule.power));
  if (schedule.initial_sparsity > options.sparsity)
    fail(fmt::format("initial_sparsity is {}, more than the final sparsity {}",
                     schedule.initial_sparsity, options.sparsity));
  if (options.kind == PruneKind::n_of_m || options.flops)
    fail(fmt::format("PolynomialSparsity has no meaning for {}; use ConstantSparsity",
                     options.flops ? "a share of FLOPs" : "an N:M pattern"));
}

void check_schedule(const ConstantSparsity& schedule, const PruneOptions&) {
  if (schedule.begin_step < 0)
    throw ValueError(
        fmt::format("Pruning: begin_step is {}, expected 0 or more", schedule.begin_step));
}

std::optional<double> asked_at(const ConstantSparsity& schedule, double sparsity, int64_t step) {
  return step == schedule.begin_step ? std::optional(sparsity) : std::nullopt;
}

std::optional<double> asked_at(const PolynomialSparsity& schedule, double sparsity, int64_t step) {
  const auto& [begin, end, initial, power, frequency] = schedule;
  bool due = step >= begin && step <= end && ((step - begin) % frequency == 0 || step == end);
  if (!due) return {};
  double left = 1.0 - double(step - begin) / double(end - begin);
  return sparsity + (initial - sparsity) * std::pow(left, power);
}

int64_t last_step(const ConstantSparsity& schedule) { return schedule.begin_step; }
int64_t last_step(const PolynomialSparsity& schedule) { return schedule.end_step; }

}  // namespace

Pruning::Pruning(PruneOptions options, SparsitySchedule schedule)
    : options_(std::move(options)), schedule_(schedule) {
  compress::check_sparsity(options_.sparsity, "sparsity");
  std::visit([&](const auto& each) { check_schedule(each, options_); }, schedule_);
}

std::optional<double> Pruning::sparsity_at(int64_t step) const {
  return std::visit([&](const auto& each) { return asked_at(each, options_.sparsity, step); },
                    schedule_);
}

// A selection that is wrong is an error before the first step.
void Pruning::on_train_begin() {
  PruneOptions nothing = options_;
  nothing.flops.reset();
  compress::check_prunable(model(), nothing);
}

void Pruning::on_train_batch_begin(int64_t) {
  std::optional<double> sparsity = sparsity_at(step_);
  if (!sparsity) return;
  PruneOptions now = options_;
  now.sparsity = *sparsity;
  report_ = prune(model(), now);
}

void Pruning::on_train_batch_end(int64_t, const Logs&) { ++step_; }

void Pruning::on_train_end(const Logs&) {
  for (const auto& [name, weight] : named_weights(ModelAccess::base(model())))
    if (weight.mask().defined()) compress::hide(model(), weight, compress::kept_of(weight));
  int64_t last = std::visit([](const auto& each) { return last_step(each); }, schedule_);
  if (step_ > last) return;
  say(*this, fmt::format("Pruning: the training ended after {} steps, before step {} "
                         "that brings "
                         "the final sparsity; the masked weights are {:.1f} % zero",
                         step_, last, 100 * report_.sparsity()));
}

std::vector<std::pair<std::string, double>> Pruning::epoch_logs() {
  return {{"sparsity", compress::measured(model()).sparsity()}};
}

CallbackState Pruning::state() const { return {.values = {{"step", step_}}}; }

void Pruning::restore(const CallbackState& state) {
  step_ = remembered<int64_t>(state, "Pruning", "step");
}

}  // namespace stoker
