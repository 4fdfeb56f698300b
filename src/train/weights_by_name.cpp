#include <stoker/weights.h>

#include <map>

#include <fmt/format.h>

#include "formats/safetensors.h"
#include "train/trainer.h"
#include "train/weight_paths.h"

namespace stoker {

namespace {

constexpr std::string_view kOwnPrefix = "weights/";  // docs/formats/stoker-model.md

std::map<std::string, Tensor> weights_in(const SafetensorsFile& file) {
  auto format = file.metadata.find("format");
  bool own = format != file.metadata.end() && format->second.starts_with("stoker-");
  std::map<std::string, Tensor> weights;
  for (const auto& [name, tensor] : file.tensors) {
    if (!own)
      weights.emplace(name, tensor);
    else if (name.starts_with(kOwnPrefix))
      weights.emplace(name.substr(kOwnPrefix.size()), tensor);
  }
  return weights;
}

bool fits(const Tensor& tensor, const Variable& weight) {
  bool castable = is_floating(tensor.dtype()) && is_floating(weight.dtype());
  return tensor.shape() == weight.shape() && (castable || tensor.dtype() == weight.dtype());
}

}  // namespace

LoadByNameResult load_weights_by_name(const Model& model, const std::string& path,
                                      const LoadByNameArgs& args) {
  const ModelBase& base = ModelAccess::base(model);
  Use use(base.trainer->gate, "load_weights_by_name", UseMode::alone);
  base.topology("load_weights_by_name");
  std::map<std::string, Tensor> there = weights_in(read_safetensors(path));
  LoadByNameResult result;
  std::vector<std::pair<Variable, Tensor>> writes;
  for (const auto& [name, weight] : named_weights(base)) {
    auto found = there.find(name);
    if (found == there.end()) {
      result.missing.push_back(name);
      continue;
    }
    if (fits(found->second, weight)) {
      writes.emplace_back(weight, found->second.cast(weight.dtype()));
      result.loaded.push_back(name);
    } else if (args.skip_mismatch) {
      result.mismatched.push_back(name);
    } else {
      throw FileError(fmt::format(
          "{}: tensor \"{}\" is {}, the model's is {}; .skip_mismatch = true leaves it out", path,
          name, to_string(found->second.spec()), to_string(weight.spec())));
    }
    there.erase(found);
  }
  for (const auto& [name, tensor] : there) result.unused.push_back(name);
  for (auto& [weight, value] : writes) weight.write(value);
  return result;
}

}  // namespace stoker
