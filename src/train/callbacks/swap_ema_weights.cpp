#include <stoker/model.h>
#include <stoker/more_callbacks.h>

#include "train/callbacks/callback_support.h"

namespace stoker {

namespace {
constexpr const char* kInUse = "averages_in_use";
}

void SwapEMAWeights::use_averages(bool in_use) {
  Optimizer optimizer = model().optimizer();
  if (!optimizer.defined() || !optimizer.use_ema())
    throw ValueError(
        "SwapEMAWeights: the optimizer keeps no averages; construct it with use_ema = true");
  in_use_ = in_use;
  if (optimizer.averages_in_use() != in_use && optimizer.iterations() > 0)
    optimizer.swap_averages();
}

void SwapEMAWeights::on_train_begin() { use_averages(false); }
void SwapEMAWeights::on_epoch_begin(int64_t) { use_averages(false); }
void SwapEMAWeights::on_epoch_end(int64_t, const Logs&) {
  if (options_.swap_on_epoch) use_averages(true);
}
void SwapEMAWeights::on_test_begin() { use_averages(true); }
void SwapEMAWeights::on_test_end(const Logs&) { use_averages(false); }
void SwapEMAWeights::on_predict_begin() { use_averages(true); }
void SwapEMAWeights::on_predict_end() { use_averages(false); }

CallbackState SwapEMAWeights::state() const {
  CallbackState state;
  if (in_use_) state.values.set(kInUse, true);
  return state;
}

// Weights and averages come from the same checkpoint, exchanged or not.
void SwapEMAWeights::restore(const CallbackState& state) {
  in_use_ = state.values.get_or(kInUse, false);
  model().optimizer().set_averages_in_use(in_use_);
}

}  // namespace stoker
