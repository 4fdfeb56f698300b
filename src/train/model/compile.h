// What compile() does, in two halves: the settings at once, and what needs the model's outputs and
// weights as soon as those exist.
#pragma once

#include "train/model/trainer.h"

namespace stoker {

void compile_model(ModelBase& model, const CompileArgs& args);
// Completes the settings of a Sequential that was compiled before it had met an input. Cheap when
// there is nothing to do.
void finish_compile(ModelBase& model);

}  // namespace stoker
