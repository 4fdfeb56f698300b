// Model::fit and Model::summary stand here, in the last room that they need: they hand train what
// observes it, so that train refers to nothing behind it (docs/design/018).
#include "observe/model_calls.h"

#include "observe/profile/measure_layers.h"
#include "observe/step_observer.h"
#include "train/model/summary.h"

namespace stoker {

FitServices observed_fit() { return {.observe = make_step_observer}; }

History Model::fit(const TensorList& x, const TensorList& y, const FitArgs& args) const {
  return fit_arrays(*this, x, y, args, observed_fit());
}

History Model::fit(const Batches& batches, const FitArgs& args) const {
  return fit_batches(*this, batches, args, observed_fit());
}

std::string Model::summary(const SummaryArgs& args) const {
  if (!args.measure) return summary_text(*this, args, nullptr);
  auto times = measure_layers(impl(), args.batch_size, "summary({.measure = true})");
  return summary_text(*this, args, &times);
}

}  // namespace stoker
