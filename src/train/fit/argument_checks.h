// What fit, evaluate and predict refuse before they look at data. ValueError says what was given.
#pragma once

#include <optional>

#include <stoker/model.h>

namespace stoker {

void check_fit(const FitArgs& args);
// At least one step, where a number is given. `what`: "evaluate: steps".
void check_steps(const std::optional<int64_t>& steps, const char* what);
// Options that only apply to arrays.
void refuse_for_batches(const std::optional<int64_t>& batch_size, const TensorList& sample_weight,
                        const char* action);

}  // namespace stoker
