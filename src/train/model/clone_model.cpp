#include <fmt/format.h>
#include <stoker/model.h>

#include "nn/layer_factory.h"
#include "train/files/model_config.h"
#include "train/model/rebuilt.h"

namespace stoker {

namespace {

constexpr const char* kCloneModel = "clone_model";

Layer same_again(const Layer& layer, const std::string& path) {
  const LayerBase& base = layer.base();
  try {
    return layer_from_config(base.kind(), layer.name(), full_config(base), with_models({}),
                             {.path = path, .own = is_own_class(base)});
  } catch (const ValueError& error) {
    throw ValueError(fmt::format(
        "{}: {} \"{}\" cannot be made from its configuration; return it from .clone_function: {}",
        kCloneModel, base.kind(), path, error.what()));
  }
}

}  // namespace

Model clone_model(const Model& model, const CloneArgs& args) {
  auto make = [&](const Layer& layer, const std::string& path) {
    if (args.clone_function) {
      Layer own = args.clone_function(layer);
      if (own.shared() != nullptr && own == layer)
        throw ValueError(
            fmt::format("{}: clone_function returned the model's own layer \"{}\", whose weights "
                        "the clone would "
                        "share; return a new one, or Layer() for one of the same configuration",
                        kCloneModel, path));
      if (own.shared() != nullptr) return own;
    }
    return same_again(layer, path);
  };
  return rebuilt(model, make, kCloneModel, args.input_tensors);
}

}  // namespace stoker
