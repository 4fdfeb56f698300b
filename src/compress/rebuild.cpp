#include "compress/rebuild.h"

#include <algorithm>

#include "train/model/model_base.h"
#include "train/model/weight_paths.h"

namespace stoker::compress {

Layer made_again(const Layer& layer, const Attrs& config, const std::string& path,
                 const CustomObjects& objects) {
  return layer_from_config(layer.base().kind(), layer.name(), config, objects.layers,
                           {.path = path, .own = is_own_class(layer.base())});
}

TensorsByName tensors_of(const Model& model) {
  TensorsByName tensors;
  for (const auto& [name, weight] : named_weights(ModelAccess::base(model)))
    tensors[name] = weight.read();
  return tensors;
}

void write_weights(const Model& model, const TensorsByName& tensors) {
  for (auto& [name, weight] : named_weights(ModelAccess::base(model)))
    if (auto found = tensors.find(name); found != tensors.end())
      Variable(weight).write(found->second);
}

bool names_it(const std::vector<std::string>& names, const std::string& path) {
  std::string inside = "/" + path + "/";
  return std::ranges::any_of(names, [&](const std::string& name) {
    return inside.find("/" + name + "/") != std::string::npos;
  });
}

}  // namespace stoker::compress
