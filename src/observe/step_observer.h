// Tier 0 of the doctor: what is measured during every fit.
#pragma once

#include <memory>

#include "train/fit/step_observer.h"

namespace stoker {

std::unique_ptr<StepObserver> make_step_observer(const FitView& view);

}  // namespace stoker
