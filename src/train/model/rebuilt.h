// A model made again with new layers, connected as the old ones are: what clone_model, strip() and the
// helpers of lighter.h are written with.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <stoker/model.h>

namespace stoker {

// The new layer for one that is not a model. `path`: its name behind those of the models around it.
using MakeLayer = std::function<Layer(const Layer& layer, const std::string& path)>;

// `action` begins the text of errors. Weights are drawn anew; layers that several models or calls
// share are made once, and frozen layers stay frozen. `inputs`: of the new model, one for each of the
// old one's; empty: new ones like them.
Model rebuilt(const Model& model, const MakeLayer& make, const char* action,
              const Values& inputs = {});

// The new layers, by the old ones that they stand for.
using MadeLayers = std::map<const LayerBase*, Layer>;
// The new layer's weight in place of the old one's. ValueError for one that no layer of `made` owns.
Variable weight_of_made(const MadeLayers& made, const Variable& old, const char* action);

}  // namespace stoker
