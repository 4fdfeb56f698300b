// Masks of weights (Variable::mask): made, read and reported.
#pragma once

#include <string>
#include <vector>

#include <stoker/prune.h>

#include "train/model/weight_paths.h"

namespace stoker::compress {

// Per element whether it stays, in row-major order.
using Kept = std::vector<uint8_t>;

// All ones where the weight has no mask.
Kept kept_of(const Variable& weight);
// Hides what `kept` hides, beside what is hidden already; the weight becomes zero there, and so
// does the model's average of it (Optimizer::average). False in all elements is a mask too.
void hide(const Model& model, const Variable& weight, Kept kept);

// ValueError, with the element's index, for a weight that is not finite.
void check_finite(const std::string& name, const Tensor& weight);
// ValueError unless in [0, 1).
void check_sparsity(double sparsity, const char* what);

// Weights that pruning may choose from, by their names; `not_pruned` gets the others, where a user
// would look for them. ValueError for a name in the options that means nothing, or a layer of
// `layers` without a kernel.
NamedVariables selected_kernels(const Model& model, const PruneOptions& options,
                                std::vector<NotPruned>& not_pruned);

// ValueError for a name that means no layer of the model; `action` begins the text.
void check_names(const Model& model, const std::vector<std::string>& names, const char* action);

// prune() for channels; without masks where `dry`.
PruneReport prune_channels(const Model& model, const PruneOptions& options, bool dry = false);
// What prune() would throw, without pruning.
void check_prunable(const Model& model, const PruneOptions& options);

// Of the masked weights of the model.
PruneReport measured(const Model& model);

}  // namespace stoker::compress
