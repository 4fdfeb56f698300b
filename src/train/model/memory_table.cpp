#include "train/model/memory_table.h"

#include <fmt/format.h>

#include "train/step/own_step_graph.h"
#include "train/step/step_graph.h"
#include "train/step/steps.h"

namespace stoker {

namespace {

// What the targets of a loss look like when none have been seen: the predictions' shape, or class
// ids.
TensorSpec likely_target(const Loss& loss, const TensorSpec& prediction) {
  try {
    return loss.target_spec(prediction, prediction);
  } catch (const ShapeError&) {
    Shape ids(prediction.shape.dims().first(size_t(prediction.shape.rank()) - 1));
    return loss.target_spec(prediction, {DType::int32, ids});
  }
}

}  // namespace

std::vector<TensorSpec> likely_step_specs(const ModelBase& model, int64_t batch_size) {
  const Trainer& trainer = *model.trainer;
  std::vector<TensorSpec> specs;
  if (const CachedProgram* seen = trainer.programs.latest(int(StepKind::train))) {
    specs = seen->specs;
    for (TensorSpec& spec : specs) spec.shape.set(0, batch_size);
    return specs;
  }
  const Topology& topology = model.topology("summary");
  for (size_t i = 0; i < topology.inputs.size(); ++i) {
    TensorSpec row = topology.input_row(i);
    if (!row.shape.is_known())
      throw ShapeError(fmt::format("input \"{}\" has unknown dimensions, {}",
                                   topology.input_names[i], to_string(topology.inputs[i].shape())));
    specs.push_back({row.dtype, row.shape.prepend(batch_size)});
  }
  std::vector<TensorSpec> predictions = prediction_specs(model, batch_size);
  for (size_t i : trainer.compiled->judged)
    specs.push_back(likely_target(trainer.compiled->losses[i], predictions[i]));
  return specs;
}

std::optional<MemoryReport> training_memory(ModelBase& model, int64_t batch_size) {
  if (!model.connected() || !model.trainer || !model.trainer->compiled) return std::nullopt;
  // What an own step's batches look like is known once one was met.
  if (has_own_step(*model.trainer, StepKind::train) &&
      model.trainer->programs.latest(int(StepKind::train)) == nullptr)
    return std::nullopt;
  try {
    std::vector<TensorSpec> specs = likely_step_specs(model, batch_size);
    return program_for(model, training_kind(*model.trainer), specs, "summary").program->memory();
  } catch (const ShapeError&) {
    return std::nullopt;
  }
}

MemoryUse memory_use(const MemoryReport& report) {
  auto bytes = [&](MemoryCategory category) { return report.bytes[size_t(category)]; };
  return MemoryUse{.weights = bytes(MemoryCategory::weights),
                   .gradients = bytes(MemoryCategory::gradients),
                   .optimizer = bytes(MemoryCategory::optimizer),
                   .activations = bytes(MemoryCategory::activations),
                   .workspace = bytes(MemoryCategory::workspace),
                   .inputs = bytes(MemoryCategory::inputs),
                   .metrics = bytes(MemoryCategory::metrics),
                   .total = report.total};
}

std::optional<MemoryUse> Model::memory_plan(int64_t batch_size) const {
  std::optional<MemoryReport> report = training_memory(impl(), batch_size);
  return report ? std::optional(memory_use(*report)) : std::nullopt;
}

std::string human_bytes(double bytes) {
  const char* unit = "B";
  for (const char* larger : {"KB", "MB", "GB", "TB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  return fmt::format("{:.{}f} {}", bytes, unit[0] == 'B' ? 0 : 1, unit);
}

std::string memory_table(const MemoryReport& report) {
  std::string text;
  for (int category = 0; category < kMemoryCategories; ++category)
    if (size_t bytes = report.bytes[size_t(category)]; bytes > 0)
      text += fmt::format("  {:<12} {:>10}\n", name(MemoryCategory(category)),
                          human_bytes(double(bytes)));
  return text + fmt::format("  {:<12} {:>10}\n", "total", human_bytes(double(report.total)));
}

}  // namespace stoker
