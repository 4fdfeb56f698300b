#include <fmt/format.h>
#include <stoker/model.h>

#include "train/callbacks/callback_support.h"

namespace stoker {

namespace {
constexpr const char* kEarlyStopping = "EarlyStopping";
}

template <>
const Fields<EarlyStoppingOptions>& callback_fields() {
  using C = EarlyStoppingOptions;
  static const Fields<C> table = {{"min_delta", &C::min_delta},
                                  {"patience", &C::patience, at_least(0)},
                                  {"start_from_epoch", &C::start_from_epoch}};
  return table;
}

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : options_(std::move(options)),
      monitor_(kEarlyStopping, options_.monitor, options_.mode, options_.min_delta) {
  callback_fields<EarlyStoppingOptions>().check(kEarlyStopping, options_);
}

void EarlyStopping::on_train_begin() {
  wait_ = 0;
  best_ = monitor_.worst();
  best_epoch_ = 0;
  stopped_epoch_.reset();
  best_weights_.clear();
}

void EarlyStopping::on_epoch_end(int64_t epoch, const Logs& logs) {
  std::optional<double> monitored_now = monitored(*this, kEarlyStopping, options_.monitor, logs);
  if (!monitored_now || epoch < options_.start_from_epoch) return;
  double value = *monitored_now;
  if (options_.restore_best_weights && best_weights_.empty()) best_weights_ = model().get_weights();
  ++wait_;
  if (monitor_.improves(value, best_)) {
    best_ = value;
    best_epoch_ = epoch;
    if (options_.restore_best_weights) best_weights_ = model().get_weights();
    if (!options_.baseline || monitor_.improves(value, *options_.baseline)) wait_ = 0;
    return;
  }
  if (wait_ >= options_.patience && epoch > 0) {
    stopped_epoch_ = epoch;
    model().stop_training();
  }
}

void EarlyStopping::on_train_end(const Logs&) {
  if (options_.restore_best_weights && !best_weights_.empty()) model().set_weights(best_weights_);
  best_weights_.clear();
}

CallbackState EarlyStopping::state() const {
  CallbackState state{.values = {{"best", best_}, {"best_epoch", best_epoch_}, {"wait", wait_}}};
  if (stopped_epoch_) state.values.set("stopped_epoch", *stopped_epoch_);
  state.tensors.reserve(best_weights_.size());
  for (size_t i = 0; i < best_weights_.size(); ++i)
    state.tensors.emplace_back(fmt::format("best_weights/{}", i), best_weights_[i]);
  return state;
}

void EarlyStopping::restore(const CallbackState& state) {
  std::vector<Tensor> weights;
  weights.reserve(state.tensors.size());
  for (const auto& [name, tensor] : state.tensors) {
    if (name != fmt::format("best_weights/{}", weights.size()))
      throw ValueError(
          fmt::format("{}: the saved state holds a tensor \"{}\"", kEarlyStopping, name));
    weights.push_back(tensor);
  }
  best_ = remembered<double>(state, kEarlyStopping, "best");
  best_epoch_ = remembered<int64_t>(state, kEarlyStopping, "best_epoch");
  wait_ = remembered<int64_t>(state, kEarlyStopping, "wait");
  stopped_epoch_.reset();
  if (state.values.has("stopped_epoch"))
    stopped_epoch_ = remembered<int64_t>(state, kEarlyStopping, "stopped_epoch");
  best_weights_ = std::move(weights);
}

}  // namespace stoker
