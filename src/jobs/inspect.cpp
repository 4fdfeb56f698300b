#include "jobs/inspect.h"

#include <filesystem>
#include <ostream>

#include <fmt/ostream.h>
#include <stoker/auto_batch.h>
#include <stoker/flops.h>
#include <stoker/version.h>
#include <nlohmann/json.hpp>

#include "base/cores.h"
#include "base/isa.h"
#include "base/memory_info.h"
#include "engine/registry.h"
#include "jobs/data_spec.h"
#include "jobs/inspect_model.h"
#include "jobs/run_folder.h"
#include "jobs/table_data.h"
#include "jobs/train_job.h"
#include "train/model/memory_table.h"

namespace stoker::jobs {

namespace {

using nlohmann::json;

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return "AVX-512";
    case Isa::avx2:
      return "AVX2";
    case Isa::generic:
      break;
  }
  return "generic";
}

bool is_small(const std::string& model) {
  return model == "mlp" || model == "lenet" || model == "cnn" || model == "cnn-small";
}

bool is_trained(const std::string& model) {
  return model.ends_with(".stoker") || std::filesystem::is_directory(model);
}

NetworkInput network_input(const Job& job) {
  if (!job.data.empty()) {
    JobData data = open_data(job);
    return {data.picture, data.outputs()};
  }
  NetworkInput input = usual_input(job.model);
  if (job.image_size)
    input.picture.shape = {job.image_size->height, job.image_size->width, input.picture.shape[2]};
  if (job.classes) input.outputs.count = *job.classes;
  return input;
}

// Why "auto" takes the CPU, and what to do where a device stands idle.
std::string absence_text() {
  std::string text;
  for (const DeviceFamily* family : preferred_families()) {
    Absence absence = family->absence();
    text += (text.empty() ? "" : "; ") + absence.why;
    if (!absence.advice.empty()) text += "; " + absence.advice;
  }
  return text;
}

}  // namespace

json inspect_machine(std::ostream* out) {
  FoundDevice best = find_device(kAutomatic);
  bool gpu = best.traits().preferred;
  json machine{{"stoker", version()},
               {"cores", available_cores()},
               {"vector_instructions", isa_name(host_isa())},
               {"memory_available_bytes", available_memory()},
               {"gpu", gpu}};
  std::string found = gpu ? backend(kAutomatic).fingerprint() : absence_text();
  machine[gpu ? "gpu_fingerprint" : "gpu_reason"] = found;
  if (out != nullptr)
    fmt::print(*out, "Stoker  {}\nCPU     {} cores, {}, {} of memory available\nGPU     {}\n",
               version(), machine["cores"].get<int>(), isa_name(host_isa()),
               human_bytes(double(available_memory())), gpu ? found : "none: " + found);
  return machine;
}

NetworkInput usual_input(const std::string& model) {
  if (is_small(model)) return {{DType::uint8, {28, 28, 1}}, {.count = 10}};
  return {{DType::uint8, {224, 224, 3}}, {.count = 1000}};
}

InspectedModel compiled_model(const Job& job) {
  if (is_trained(job.model)) {
    TrainedModel trained = open_trained(job.model);
    Outputs outputs{.count = trained.model.outputs()[0].shape()[-1],
                    .classes = learns_classes(trained.job)};
    if (!trained.model.compiled()) compile_model(fitted_job(job, outputs), trained.model);
    return {trained.model, {input_of(trained), outputs}};
  }
  NetworkInput input = network_input(job);
  Model model = make_model(job, input.picture, input.outputs);
  compile_model(fitted_job(job, input.outputs), model);
  return {model, input};
}

json inspect_model(const Job& job, std::ostream* out) {
  auto [model, input] = compiled_model(job);
  int64_t batch = job.batch.size > 0 ? job.batch.size : auto_batch_size(model);
  json result{{"model", job.model},
              {"input", to_string(input.picture)},
              {"classes", input.outputs.classes ? input.outputs.count : 0},
              {"parameters", model.count_params()},
              {"flops_per_sample", count_flops(model)},
              {"batch", batch}};
  if (std::optional<MemoryUse> plan = model.memory_plan(batch))
    result["memory_plan"] = {{"weights", plan->weights},     {"gradients", plan->gradients},
                             {"optimizer", plan->optimizer}, {"activations", plan->activations},
                             {"workspace", plan->workspace}, {"inputs", plan->inputs},
                             {"metrics", plan->metrics},     {"total", plan->total}};
  if (out != nullptr) {
    if (job.batch.size == 0) fmt::print(*out, "batch = auto chooses {}\n", batch);
    *out << model.summary({.batch_size = batch});
  }
  return result;
}

json inspect_data(const Job& job, int64_t measured_batches, std::ostream* out) {
  JobData data = open_data(job);
  data::Dataset train =
      training_batches(job, data, job.batch.size > 0 ? job.batch.size : int64_t(32));
  if (measured_batches > 0) {
    data::Iterator walk = train.iterate({.epochs = 0});
    for (int64_t made = 0; made < measured_batches;)
      if (walk.next() != nullptr) ++made;
  }
  if (out != nullptr) fmt::print(*out, "{}\n{}", data.text, train.explain());
  return {{"data", job.data},
          {"classes", data.classes},
          {"class_names", data.names.classes},
          {"picture", to_string(data.picture)},
          {"pipeline", json::parse(train.explain_json())}};
}

}  // namespace stoker::jobs
