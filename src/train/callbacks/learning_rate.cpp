// LearningRateScheduler and ReduceLROnPlateau.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/model.h>

#include "train/callbacks/callback_support.h"

namespace stoker {

namespace {

constexpr const char* kPlateau = "ReduceLROnPlateau";

std::vector<std::pair<std::string, double>> current_rate(const Callback& callback) {
  return {{"learning_rate", callback.model().optimizer().learning_rate()}};
}

}  // namespace

LearningRateScheduler::LearningRateScheduler(std::function<double(int64_t, double)> schedule,
                                             Options options)
    : schedule_(std::move(schedule)), options_(options) {
  if (!schedule_) throw ValueError("LearningRateScheduler: the function is empty");
}

LearningRateScheduler::LearningRateScheduler(std::function<double(int64_t)> schedule,
                                             Options options)
    : options_(options) {
  if (!schedule) throw ValueError("LearningRateScheduler: the function is empty");
  schedule_ = [schedule = std::move(schedule)](int64_t epoch, double) { return schedule(epoch); };
}

void LearningRateScheduler::on_epoch_begin(int64_t epoch) {
  Optimizer optimizer = model().optimizer();
  double rate = schedule_(epoch, optimizer.learning_rate());
  optimizer.set_learning_rate(rate);
  if (options_.verbose > 0)
    say(*this, fmt::format("Epoch {}: the learning rate is {:.6g}", epoch + 1, rate));
}

std::vector<std::pair<std::string, double>> LearningRateScheduler::epoch_logs() {
  return current_rate(*this);
}

template <>
const Fields<ReduceLROnPlateauOptions>& callback_fields() {
  using C = ReduceLROnPlateauOptions;
  static const Fields<C> table = {{"factor", &C::factor, in_open(0, 1)},
                                  {"patience", &C::patience, at_least(0)},
                                  {"min_delta", &C::min_delta},
                                  {"cooldown", &C::cooldown, at_least(0)},
                                  {"min_lr", &C::min_lr, at_least(0)}};
  return table;
}

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : options_(std::move(options)),
      monitor_(kPlateau, options_.monitor, options_.mode, options_.min_delta) {
  callback_fields<ReduceLROnPlateauOptions>().check(kPlateau, options_);
}

void ReduceLROnPlateau::on_train_begin() {
  if (model().optimizer().schedule().defined())
    throw Error(fmt::format(
        "{}: the optimiser has a schedule ({}), which decides the learning rate by itself; give it "
        "a number for its learning_rate, or leave the callback out",
        kPlateau, model().optimizer().schedule().kind()));
  best_ = monitor_.worst();
  wait_ = cooldown_ = 0;
}

std::vector<std::pair<std::string, double>> ReduceLROnPlateau::epoch_logs() {
  return current_rate(*this);
}

void ReduceLROnPlateau::on_epoch_end(int64_t epoch, const Logs& logs) {
  std::optional<double> value = monitored(*this, kPlateau, options_.monitor, logs);
  if (!value) return;
  if (cooldown_ > 0) {
    --cooldown_;
    wait_ = 0;
  }
  if (monitor_.improves(*value, best_)) {
    best_ = *value;
    wait_ = 0;
  } else if (cooldown_ == 0 && ++wait_ >= options_.patience) {
    reduce(epoch);
  }
}

void ReduceLROnPlateau::reduce(int64_t epoch) {
  Optimizer optimizer = model().optimizer();
  double old = optimizer.learning_rate();
  if (old <= double(float(options_.min_lr))) return;
  double rate = std::max(old * options_.factor, options_.min_lr);
  optimizer.set_learning_rate(rate);
  cooldown_ = options_.cooldown;
  wait_ = 0;
  if (options_.verbose > 0)
    say(*this,
        fmt::format("Epoch {}: {} has not improved; the learning rate goes from {:.6g} to {:.6g}",
                    epoch + 1, options_.monitor, old, rate));
}

CallbackState ReduceLROnPlateau::state() const {
  return {.values = {{"best", best_}, {"wait", wait_}, {"cooldown", cooldown_}}};
}

void ReduceLROnPlateau::restore(const CallbackState& state) {
  best_ = remembered<double>(state, kPlateau, "best");
  wait_ = remembered<int64_t>(state, kPlateau, "wait");
  cooldown_ = remembered<int64_t>(state, kPlateau, "cooldown");
}

}  // namespace stoker
