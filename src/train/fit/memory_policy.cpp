#include "train/fit/memory_policy.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "base/pipeline_statistics.h"
#include "train/model/memory_table.h"
#include "train/step/steps.h"

namespace stoker {

namespace {

bool has_batch_statistics(const ModelBase& model) {
  return std::ranges::any_of(
      model.leaves(), [](const auto& layer) { return layer->kind() == "BatchNormalization"; });
}

bool is_divided(const ModelBase& model) {
  return model.trainer->distribution != nullptr && model.trainer->distribution->ranks() > 1;
}

}  // namespace

MemoryPolicy::MemoryPolicy(ModelBase& model, const FitArgs& args) : model_(model), args_(args) {
  if (args.on_out_of_memory == OnOutOfMemory::halve && is_divided(model))
    throw ValueError(fmt::format(
        "fit: on_out_of_memory = OnOutOfMemory::halve is for one device, and this model "
        "trains on {}: their batches run whole. Take a smaller batch or more devices, "
        "or add up batches with the optimiser's gradient_accumulation_steps",
        model.trainer->distribution->ranks()));
  model.trainer->parts = {};
}

void MemoryPolicy::use_smaller_parts(const Tried& tried, const OutOfMemoryError& error) {
  PartSizes& parts = model_.trainer->parts;
  int64_t& size = is_training(tried.kind) ? parts.training : parts.evaluation;
  int64_t rows = tried.rows, before = size > 0 ? std::min(size, rows) : rows;
  if (args_.on_out_of_memory != OnOutOfMemory::halve || before <= 1) fail(tried, error);
  size = (before + 1) / 2;
  if (!is_training(tried.kind)) return say(fmt::format("evaluation in parts of {} samples", size));
  std::string note = has_batch_statistics(model_)
                         ? fmt::format("; batch normalisation sees {} samples at a time", size)
                         : "";
  say(
      fmt::format("each batch of {} runs in {} parts of {}, whose gradients are added up: steps "
                  "and learning rate stay those of the whole batch{}",
                  rows, (rows + size - 1) / size, size, note));
}

void MemoryPolicy::say(const std::string& line) const {
  const Context& context = *model_.trainer->context;
  if (context.out == nullptr || args_.verbose == 0) return;
  *context.out << "fit: out of memory; " << line << "\n" << std::flush;
}

// What the engine does not know of: batches and caches on the host.
std::string MemoryPolicy::host_holds(const Tried& tried) const {
  auto arrays = [](std::span<const Tensor> columns) {
    size_t bytes = 0;
    for (const Tensor& column : columns) bytes += column.bytes();
    return fmt::format("; on the host: arrays {}", human_bytes(double(bytes)));
  };
  if (feed_ == nullptr) return arrays(tried.inputs);
  if (feed_->arrays() != nullptr) return arrays(feed_->arrays()->columns());
  PipelineStatistics statistics;
  if (feed_->stream() == nullptr || !feed_->stream()->measure(statistics)) return "";
  return fmt::format("; on the host: the pipeline's batches and caches {}",
                     human_bytes(double(statistics.memory)));
}

// The largest that the engine takes: its plan decides, not an estimate.
int64_t MemoryPolicy::fitting_batch(const Tried& tried) const {
  std::vector<TensorSpec> specs = specs_of(tried.inputs);
  int64_t most = tried.rows - 1, fits = 0;
  while (most > fits) {
    int64_t middle = fits + (most - fits + 1) / 2;
    for (TensorSpec& spec : specs) spec.shape.set(0, middle);
    try {
      ProgramCache trial;
      program_for(model_, trial, tried.kind, specs, "fit");
      fits = middle;
    } catch (const OutOfMemoryError&) {
      most = middle - 1;
    }
  }
  return fits;
}

void MemoryPolicy::fail(const Tried& tried, const OutOfMemoryError& error) const {
  int64_t fits = fitting_batch(tried);
  std::string advice = fits == 0
                           ? "not even one sample would fit: take a smaller model or smaller inputs"
                       : args_.on_out_of_memory == OnOutOfMemory::halve || is_divided(model_)
                           ? fmt::format("{} would fit", fits)
                           : fmt::format(
                                 "{} would fit, or keep this batch with on_out_of_memory = "
                                 "OnOutOfMemory::halve",
                                 fits);
  throw OutOfMemoryError(fmt::format("fit: {}{}", error.needs(), host_holds(tried)),
                         fmt::format("at batch size {}; {}", tried.rows, advice));
}

}  // namespace stoker
