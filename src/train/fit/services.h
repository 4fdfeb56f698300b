// What rooms after this one do for a fit. The public calls hand it over (observe/model_calls.h), so
// that nothing here refers to those rooms: docs/design/018.
#pragma once

#include <memory>

#include <stoker/model.h>

#include "train/fit/step_observer.h"

namespace stoker {

class RunLocks;

struct FitServices {
  // Watches the fit; null: no observer.
  std::unique_ptr<StepObserver> (*observe)(const FitView& view) = nullptr;
  // The folders that the caller has locked for this run already; null: none.
  RunLocks* locks = nullptr;
};

// Model::fit.
History fit_arrays(const Model& model, const TensorList& x, const TensorList& y,
                   const FitArgs& args, const FitServices& services);
History fit_batches(const Model& model, const Batches& batches, const FitArgs& args,
                    const FitServices& services);

}  // namespace stoker
