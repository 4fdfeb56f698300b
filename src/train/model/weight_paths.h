// Names for a model's weights that are unique in the whole of it: the names of the models and
// layers on the way, then the weight's own ("encoder/block_1/dense/kernel").
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/model/model_base.h"

namespace stoker {

using NamedVariables = std::vector<std::pair<std::string, Variable>>;

// Each weight once, under the first of its names.
NamedVariables named_weights(const ModelBase& model);
// Those that a file of the model holds: without the weights of its training_layers().
NamedVariables saved_weights(const ModelBase& model);

// For messages: the first five, and how many more there are.
std::string first_few(const std::vector<std::string>& lines, const char* separator);

// For error texts and files: the tensors that a list of variables needs, compared with those that
// are there. ValueError that lists those that are missing, of another spec, or, where `exact`, not
// asked for.
void check_tensors(const NamedVariables& wanted,
                   const std::vector<std::pair<std::string, Tensor>>& there, bool exact);
// Writes them; check_tensors() has been called.
void write_tensors(const NamedVariables& wanted,
                   const std::vector<std::pair<std::string, Tensor>>& there);

// --- masks of weights (Variable::mask); in files "masks/PATH", bool, beside "weights/PATH" ---

inline constexpr const char* kMasksPrefix = "masks/";

// Of those weights that have one.
NamedVariables named_masks(const NamedVariables& weights);
// The same, and a new variable for every further weight whose mask is among the tensors. Nothing is
// changed yet: check_tensors() has to see them first.
NamedVariables masks_for(const NamedVariables& weights,
                         const std::vector<std::pair<std::string, Tensor>>& there);
// Gives the weights what masks_for() returned.
void set_masks(const NamedVariables& weights, const NamedVariables& masks);

}  // namespace stoker
