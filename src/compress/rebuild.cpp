#include "compress/rebuild.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>

#include "train/files/model_config.h"
#include "train/model/model_base.h"
#include "train/model/weight_paths.h"

namespace stoker::compress {

Layer made_again(const Layer& layer, const Attrs& config, const std::string& path,
                 const CustomObjects& objects) {
  const auto& makers = objects.layers;
  const std::string kind = layer.base().kind();
  if (is_own_class(layer.base()) && !makers.contains(kind) && !makers.contains(path) &&
      !makers.contains(layer.name()))
    throw ValueError(fmt::format(
        "layer \"{}\" is a {}, a class of this program, which only the program can make again; "
        "pass "
        "it with the options: .custom_objects = {{.layers = {{{{\"{}\", [](const Attrs& config) {{ "
        "return ...; }}}}}}}}",
        path, kind, kind));
  return layer_from_config(layer.base().kind(), layer.name(), config, with_models(objects.layers),
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
