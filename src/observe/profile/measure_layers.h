// The time of every layer on a made-up batch.
#pragma once

#include <map>
#include <string>

#include "train/model/summary.h"

namespace stoker {

// By layer: trains some steps on a made-up batch of this size and puts every bit of the state back.
// Error, naming `action`, before compile(), and when the shape of the targets cannot be known yet.
std::map<std::string, LayerSeconds> measure_layers(ModelBase& model, int64_t batch_size,
                                                   const char* action);

}  // namespace stoker
