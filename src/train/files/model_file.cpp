// save, load_model, save_weights, load_weights: docs/formats/stoker-model.md.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <new>

#include <fmt/format.h>
#include <stoker/model.h>

#include "base/writable.h"
#include "formats/safetensors.h"
#include "train/checkpoint/training_state.h"
#include "train/files/architecture.h"
#include "train/files/custom_objects.h"
#include "train/files/file_format.h"
#include "train/files/saving.h"
#include "train/files/training_json.h"
#include "train/model/compile.h"
#include "train/model/weight_paths.h"

namespace stoker {

namespace {

// `none`: tensors without elements. Whether such a file can be written says whether the real one
// can, without reading the device.
enum class Contents : uint8_t { real, none };

void put(SafetensorsFile& file, const NamedVariables& named, Contents contents) {
  for (const auto& [name, variable] : named)
    file.tensors.emplace_back(
        name, contents == Contents::real ? variable.read() : Tensor::zeros({0}, variable.dtype()));
}

SafetensorsFile weights_file(const ModelBase& model, Contents contents) {
  SafetensorsFile file = file_of_format(kWeightsFormat);
  NamedVariables weights = saved_weights(model);
  put(file, with_prefix(kWeightsPrefix, weights), contents);
  put(file, named_masks(weights), contents);
  return file;
}

void check_owned(ModelBase& model) {
  for (const Variable& variable : unowned_variables(model))
    throw ValueError(fmt::format(
        "save: variable \"{}\" is a weight of no layer, so that its value would not be in the "
        "file; "
        "make it by add_weight() of an own layer, or use a weight of a layer of the model",
        variable.name()));
}

SafetensorsFile model_file(const Model& handle, const SaveArgs& args, Contents contents) {
  ModelBase& model = ModelAccess::base(handle);
  SafetensorsFile file = file_of_format(kModelFormat);
  std::vector<Tensor> constants;
  file.metadata["architecture"] = architecture_to_json(model, constants);
  check_owned(model);
  NamedVariables weights = saved_weights(model);
  put(file, with_prefix(kWeightsPrefix, weights), contents);
  put(file, named_masks(weights), contents);
  for (size_t i = 0; i < constants.size(); ++i)
    file.tensors.emplace_back(fmt::format("constants/{}", i), constants[i]);
  // Own steps are code, which a file cannot hold: such a model is saved as one that is not compiled.
  bool own_steps = handle.compiled() && (model.trainer->compiled->args.train_step.defined() ||
                                         model.trainer->compiled->args.test_step.defined());
  if (args.include_optimizer && handle.compiled() && !own_steps) {
    file.metadata["training"] = training_to_json(*model.trainer, handle.run_plan());
    put(file, training_state(*model.trainer, weights), contents);
  }
  return file;
}

// The reasons to fail that the path shows, in plainer words than the temporary file's.
void check_place(const std::string& path) {
  check_ending(path);
  check_can_write_file(path);
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty() && !local_files().exists(folder))
    throw FileError(fmt::format("{}: the folder {} does not exist; create it first", path, folder));
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

// custom_layers are custom_objects.layers by the name that 0.1 had for them.
CustomObjects objects_of(const LoadArgs& args) {
  CustomObjects objects = args.custom_objects;
  for (const auto& [kind, make] : args.custom_layers)
    if (!objects.layers.emplace(kind, make).second)
      throw ValueError(
          fmt::format("\"{}\" is among both .custom_objects.layers and .custom_layers", kind));
  return with_registered(std::move(objects));
}

// Compiles the model and returns the variables that the file has beside the weights.
NamedVariables begin_training(ModelBase& model, const SafetensorsFile& file,
                              const NamedVariables& weights, const CustomObjects& objects,
                              Context* context) {
  TrainingSettings settings = training_from_json(metadata_of(file, "training"), objects);
  settings.args.context = context;
  compile_model(model, settings.args);
  settings.args.optimizer.set_accumulated_batches(settings.accumulated_batches);
  model.trainer->seed = settings.seed;
  // A model that was saved in float32 has no loss scale, and may be loaded under "mixed_float16".
  NamedVariables wanted = training_state(*model.trainer, weights);
  std::erase_if(wanted, [&](const auto& entry) {
    return is_loss_scale(entry.first) && !file_has(file, entry.first);
  });
  return wanted;
}

void drop_training(SafetensorsFile& file) {
  std::erase_if(file.tensors, [](const auto& entry) { return is_training_state(entry.first); });
  file.metadata.erase("training");
}

// A layer of the user's own that borrows another layer's weight is the likely reason why a weight
// is not in the file under the name that it has here.
[[noreturn]] void fail_tensors(const ValueError& error, const CustomObjects& objects) {
  bool likely = !objects.layers.empty() &&
                std::string_view(error.what()).find("is missing") != std::string_view::npos;
  throw ValueError(fmt::format(
      "{}{}", error.what(),
      likely ? ". A weight that several layers share is in the file once, under the first of them: "
               "makers in .custom_objects have to make layers that share it again"
             : ""));
}

// What a maker captured: a variable of the model that was saved, say, which this one does not
// share.
void check_makers(ModelBase& model, const CustomObjects& objects) {
  if (objects.layers.empty()) return;
  for (const Variable& variable : unowned_variables(model))
    throw ValueError(
        fmt::format("a layer from .custom_objects uses variable \"{}\", which is not a weight of a "
                    "layer of the "
                    "model that is being loaded; pass the layer that owns it by its name too",
                    variable.name()));
}

Model read_model(SafetensorsFile file, const LoadArgs& args) {
  check_format(file, {kModelFormat});
  if (!args.compile) drop_training(file);
  CustomObjects objects = objects_of(args);
  std::vector<Tensor> constants = read_constants(file);
  std::shared_ptr<ModelBase> base =
      architecture_from_json(metadata_of(file, "architecture"), constants, objects.layers);
  Model model = ModelAccess::wrap(base);
  check_makers(*base, objects);
  NamedVariables weights = saved_weights(*base);
  NamedVariables wanted = with_prefix(kWeightsPrefix, weights);
  NamedVariables masks = masks_for(weights, file.tensors);
  wanted.insert(wanted.end(), masks.begin(), masks.end());
  if (file.metadata.contains("training"))
    for (auto& entry : begin_training(*base, file, weights, objects, args.context))
      wanted.push_back(std::move(entry));
  NamedVariables all = wanted;
  for (auto& entry : constant_names(constants)) all.push_back(std::move(entry));
  try {
    check_tensors(all, file.tensors, /*exact=*/true);
  } catch (const ValueError& error) {
    fail_tensors(error, objects);
  }
  set_masks(weights, masks);
  write_tensors(wanted, file.tensors);
  return model;
}

}  // namespace

void check_ending(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  if (ending != ".keras" && ending != ".h5" && ending != ".hdf5") return;
  std::string stem = path.substr(0, path.size() - ending.size());
  throw ValueError(fmt::format(
      "{}: files that end in {} are Keras's own, which Stoker does not write; give \"{}.stoker\" "
      "and read it with load_model(), or write for others: export_onnx(), "
      "save_weights(\"{}.safetensors\")",
      path, ending, stem, stem));
}

void check_can_save(const Model& model, const SaveArgs& args) {
  std::string head;
  safetensors_pieces(model_file(model, args, Contents::none), head);
}

void check_can_save_weights(const Model& model) {
  std::string head;
  safetensors_pieces(weights_file(ModelAccess::base(model), Contents::none), head);
}

SavedModel saved_model_of(const Model& model) {
  return SavedModel(model_file(model, {}, Contents::real));
}

SavedModel saved_weights_of(const Model& model) {
  return SavedModel(weights_file(ModelAccess::base(model), Contents::real));
}

bool SavedModel::weights_are_finite() const {
  return std::ranges::all_of(file_.tensors, [](const auto& entry) {
    const Tensor& tensor = entry.second;
    return !entry.first.starts_with(kWeightsPrefix) || tensor.dtype() != DType::float32 ||
           std::ranges::all_of(tensor.values<float>(), [](float x) { return std::isfinite(x); });
  });
}

void SavedModel::write(const std::string& path) const { write_safetensors(path, file_); }

size_t saved_bytes(const Model& model, const SaveArgs& args) {
  std::string head;
  SafetensorsFile file = model_file(model, args, Contents::real);
  size_t bytes = 0;
  for (const auto& piece : safetensors_pieces(file, head)) bytes += piece.size();
  return bytes;
}

void Model::save(const std::string& path, const SaveArgs& args) const {
  Use use(impl().trainer->gate, "save", UseMode::shared);
  impl().topology("save");
  check_place(path);
  write_safetensors(path, model_file(*this, args, Contents::real));
}

void Model::save_weights(const std::string& path) const {
  Use use(impl().trainer->gate, "save_weights", UseMode::shared);
  impl().topology("save_weights");
  check_place(path);
  write_safetensors(path, weights_file(impl(), Contents::real));
}

void Model::load_weights(const std::string& path) const {
  Use use(impl().trainer->gate, "load_weights", UseMode::alone);
  impl().topology("load_weights");
  SafetensorsFile file = read_safetensors(path);
  try {
    if (!file.metadata.contains("format"))
      throw ValueError(
          "it is not one of Stoker's; load_weights_by_name() takes weights that others wrote");
    check_format(file, {kWeightsFormat, kModelFormat});
    std::erase_if(file.tensors, [](const auto& entry) {
      return !entry.first.starts_with(kWeightsPrefix) && !entry.first.starts_with(kMasksPrefix);
    });
  } catch (const ValueError& error) {
    throw FileError(fmt::format("{}: {}", path, error.what()));
  }
  NamedVariables weights = saved_weights(impl()), masks = masks_for(weights, file.tensors);
  NamedVariables wanted = with_prefix(kWeightsPrefix, weights);
  wanted.insert(wanted.end(), masks.begin(), masks.end());
  try {
    check_tensors(wanted, file.tensors, /*exact=*/true);
  } catch (const ValueError& error) {
    throw FileError(
        fmt::format("{}: {}. load_weights_by_name() takes the part that fits", path, error.what()));
  }
  set_masks(weights, masks);
  write_tensors(wanted, file.tensors);
}

Model load_model(const std::string& path, const LoadArgs& args) {
  SafetensorsFile file = read_safetensors(path);
  try {
    return read_model(std::move(file), args);
  } catch (const std::bad_alloc&) {
    throw FileError(fmt::format("{}: its architecture asks for more memory than there is", path));
  } catch (const Error& error) {
    throw FileError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace stoker
