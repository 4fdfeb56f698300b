// Model::summary as text.
#pragma once

#include <map>
#include <string>

#include "train/model/model_base.h"

namespace stoker {

// Seconds of one step.
struct LayerSeconds {
  double forward = 0, backward = 0, update = 0;
};

// `times`: of each layer, by name, for columns of their own; null: none.
std::string summary_text(const Model& model, const SummaryArgs& args,
                         const std::map<std::string, LayerSeconds>* times);

}  // namespace stoker
