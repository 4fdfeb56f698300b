#include <stoker/weights.h>

#include <map>
#include <ostream>

#include <fmt/format.h>

#include "formats/safetensors.h"
#include "train/files/file_format.h"
#include "train/model/trainer.h"
#include "train/model/weight_paths.h"

namespace stoker {

namespace {

using Names = std::vector<std::string>;

std::map<std::string, Tensor> weights_in(const SafetensorsFile& file) {
  auto format = file.metadata.find("format");
  bool own = format != file.metadata.end() && format->second.starts_with("stoker-");
  std::map<std::string, Tensor> weights;
  for (const auto& [name, tensor] : file.tensors) {
    if (!own)
      weights.emplace(name, tensor);
    else if (name.starts_with(kWeightsPrefix))
      weights.emplace(name.substr(std::string_view(kWeightsPrefix).size()), tensor);
  }
  return weights;
}

bool fits(const Tensor& tensor, const Variable& weight) {
  bool castable = is_floating(tensor.dtype()) && is_floating(weight.dtype());
  return tensor.shape() == weight.shape() && (castable || tensor.dtype() == weight.dtype());
}

std::string clause(const char* what, const Names& names) {
  return names.empty() ? "" : fmt::format("; {}: {}", what, first_few(names, ", "));
}

std::string outcome(const std::string& path, const LoadByNameResult& result,
                    const Names& mismatches) {
  size_t wanted = result.loaded.size() + result.missing.size() + result.mismatched.size();
  return fmt::format("{}: {} of the model's {} weights loaded{}{}{}", path, result.loaded.size(),
                     wanted, clause("of another shape or dtype", mismatches),
                     clause("not in the file", result.missing),
                     clause("not in the model", result.unused));
}

void say(const ModelBase& model, const std::string& line) {
  const Context& context = model.trainer ? *model.trainer->context : default_context();
  if (context.out != nullptr)
    *context.out << "load_weights_by_name: " << line << "\n" << std::flush;
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
  Names mismatches;
  for (const auto& [name, weight] : named_weights(base)) {
    auto found = there.find(name);
    if (found == there.end()) {
      result.missing.push_back(name);
      continue;
    }
    if (fits(found->second, weight)) {
      writes.emplace_back(weight, found->second.cast(weight.dtype()));
      result.loaded.push_back(name);
    } else {
      mismatches.push_back(fmt::format("tensor \"{}\" is {}, the model's is {}", name,
                                       to_string(found->second.spec()), to_string(weight.spec())));
      result.mismatched.push_back(name);
    }
    there.erase(found);
  }
  for (const auto& [name, tensor] : there) result.unused.push_back(name);
  if (!mismatches.empty() && !args.skip_mismatch)
    throw FileError(fmt::format("{}: {}; .skip_mismatch = true leaves such weights as they are",
                                path, first_few(mismatches, "; ")));
  if (writes.empty()) throw FileError(outcome(path, result, mismatches));
  for (auto& [weight, value] : writes) weight.write(value);
  bool all = result.missing.empty() && result.mismatched.empty() && result.unused.empty();
  if (args.verbose > 0 && !all) say(base, outcome(path, result, mismatches));
  return result;
}

}  // namespace stoker
