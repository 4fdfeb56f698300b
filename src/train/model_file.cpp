// save, load_model, save_weights, load_weights: docs/formats/stoker-model.md.
#include <algorithm>
#include <map>
#include <new>

#include <fmt/format.h>
#include <stoker/model.h>

#include "formats/safetensors.h"
#include "train/architecture.h"
#include "train/compile.h"
#include "train/training_json.h"
#include "train/training_state.h"
#include "train/weight_paths.h"

namespace stoker {

namespace {

constexpr const char* kModelFormat = "stoker-model";
constexpr const char* kWeightsFormat = "stoker-weights";
constexpr const char* kVersion1 = "1";

void put(SafetensorsFile& file, const NamedVariables& named) {
  for (const auto& [name, variable] : named) file.tensors.emplace_back(name, variable.read());
}

std::string metadata(const SafetensorsFile& file, const std::string& key) {
  auto found = file.metadata.find(key);
  if (found == file.metadata.end())
    throw ValueError(fmt::format("\"{}\" is missing from its metadata", key));
  return found->second;
}

void check_format(const SafetensorsFile& file, std::initializer_list<const char*> formats) {
  std::string format = metadata(file, "format"), known;
  bool good = false;
  for (const char* each : formats) {
    good = good || format == each;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : " or ", each);
  }
  if (!good) throw ValueError(fmt::format("its format is \"{}\", expected {}", format, known));
  if (metadata(file, "version") != kVersion1)
    throw ValueError(fmt::format("version {} of its format is not known to this library",
                                 metadata(file, "version")));
}

std::vector<Tensor> read_constants(const SafetensorsFile& file) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, tensor] : file.tensors) by_name[name] = &tensor;
  std::vector<Tensor> constants;
  while (true) {
    auto found = by_name.find(fmt::format("constants/{}", constants.size()));
    if (found == by_name.end()) return constants;
    constants.push_back(*found->second);
  }
}

NamedVariables constant_names(const std::vector<Tensor>& constants) {
  NamedVariables named;
  for (size_t i = 0; i < constants.size(); ++i)
    named.emplace_back(fmt::format("constants/{}", i), Variable("constant", constants[i]));
  return named;
}

bool file_has(const SafetensorsFile& file, const std::string& name) {
  return std::ranges::any_of(file.tensors, [&](const auto& entry) { return entry.first == name; });
}

Model read_model(const SafetensorsFile& file, const LoadArgs& args) {
  check_format(file, {kModelFormat});
  std::vector<Tensor> constants = read_constants(file);
  std::shared_ptr<ModelBase> base =
      architecture_from_json(metadata(file, "architecture"), constants, args.custom_layers);
  Model model = ModelAccess::wrap(base);
  NamedVariables weights = named_weights(*base);
  NamedVariables wanted = with_prefix("weights/", weights);
  bool trained = file.metadata.contains("training");
  if (trained) {
    TrainingSettings settings = training_from_json(metadata(file, "training"));
    settings.args.context = args.context;
    compile_model(*base, settings.args);
    settings.args.optimizer.set_accumulated_batches(settings.accumulated_batches);
    base->trainer->seed = settings.seed;
    // A model that was saved in float32 has no loss scale, and may be loaded under "mixed_float16".
    for (auto& entry : training_state(*base->trainer, weights))
      if (file_has(file, entry.first) || !is_loss_scale(entry.first))
        wanted.push_back(std::move(entry));
  }
  NamedVariables all = wanted;
  for (auto& entry : constant_names(constants)) all.push_back(std::move(entry));
  check_tensors(all, file.tensors, /*exact=*/true);
  write_tensors(wanted, file.tensors);
  return model;
}

}  // namespace

void Model::save(const std::string& path, const SaveArgs& args) const {
  Use use(impl().trainer->gate, "save", UseMode::shared);
  const ModelBase& model = impl();
  SafetensorsFile file;
  std::vector<Tensor> constants;
  file.metadata = {{"format", kModelFormat},
                   {"version", kVersion1},
                   {"architecture", architecture_to_json(model, constants)}};
  NamedVariables weights = named_weights(model);
  put(file, with_prefix("weights/", weights));
  for (size_t i = 0; i < constants.size(); ++i)
    file.tensors.emplace_back(fmt::format("constants/{}", i), constants[i]);
  if (args.include_optimizer && compiled()) {
    file.metadata["training"] = training_to_json(*model.trainer, run_plan());
    put(file, training_state(*model.trainer, weights));
  }
  write_safetensors(path, file);
}

void Model::save_weights(const std::string& path) const {
  Use use(impl().trainer->gate, "save_weights", UseMode::shared);
  impl().topology("save_weights");
  SafetensorsFile file;
  file.metadata = {{"format", kWeightsFormat}, {"version", kVersion1}};
  put(file, with_prefix("weights/", named_weights(impl())));
  write_safetensors(path, file);
}

void Model::load_weights(const std::string& path) const {
  Use use(impl().trainer->gate, "load_weights", UseMode::alone);
  impl().topology("load_weights");
  SafetensorsFile file = read_safetensors(path);
  try {
    check_format(file, {kWeightsFormat, kModelFormat});
    std::erase_if(file.tensors,
                  [](const auto& entry) { return !entry.first.starts_with("weights/"); });
    NamedVariables wanted = with_prefix("weights/", named_weights(impl()));
    check_tensors(wanted, file.tensors, /*exact=*/true);
    write_tensors(wanted, file.tensors);
  } catch (const ValueError& error) {
    throw FileError(fmt::format("{}: {}", path, error.what()));
  }
}

Model load_model(const std::string& path, const LoadArgs& args) {
  SafetensorsFile file = read_safetensors(path);
  try {
    return read_model(file, args);
  } catch (const std::bad_alloc&) {
    throw FileError(fmt::format("{}: its architecture asks for more memory than there is", path));
  } catch (const Error& error) {
    throw FileError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace stoker
