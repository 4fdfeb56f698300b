// From evidence to a diagnosis.
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "base/convert.h"
#include "base/cores.h"
#include "observe/device_monitor.h"
#include "observe/layer_times.h"
#include "observe/observed.h"
#include "observe/thresholds.h"
#include "observe/verdict.h"
#include "observe/words.h"
#include "train/model/memory_table.h"
#include "train/model/trainer.h"

namespace stoker::doctor {

namespace {

PipelineReport report_of(const Evidence& evidence) {
  const PipelineFacts& facts = evidence.pipeline;
  PipelineReport report;
  report.known = facts.known;
  for (const WindowFacts& window : evidence.windows) {
    report.ready_share += window.ready_share / double(evidence.windows.size());
    report.median_wait_seconds = std::max(report.median_wait_seconds, window.median_wait_ns * 1e-9);
  }
  report.workers = facts.workers;
  report.depth = facts.depth;
  report.as_written = facts.as_written;
  report.tuned = facts.tunes_workers || facts.tunes_depth;
  report.busy_share = facts.busy_share;
  if (facts.cache.fits) {
    report.cache_after = facts.cache.after;
    report.cache_bytes = facts.cache.bytes;
  }
  double all = 0;
  for (const StageFacts& stage : facts.stages) all += stage.ns;
  // What is no function of an element: reading rows where they lie and putting them together.
  double an_element = facts.work_ns / double(std::max<int64_t>(evidence.batch_size, 1));
  double rest = std::max(0.0, an_element - all);
  all += rest;
  for (const StageFacts& stage : facts.stages)
    report.stages.push_back({.name = stage.name,
                             .seconds = stage.ns * 1e-9,
                             .cpu_share = stage.cpu_share,
                             .longest_seconds = stage.longest_ns * 1e-9,
                             .bytes = stage.bytes,
                             .share = all > 0 ? stage.ns / all : 0,
                             .random = stage.random});
  if (facts.known && rest > 0)
    report.stages.push_back(
        {.name = "source and batch", .seconds = rest * 1e-9, .share = rest / all});
  return report;
}

std::string read_machine_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      return fmt::format("{}, {} cores", line.substr(line.find(':') + 2), available_cores());
  return fmt::format("{} cores", available_cores());
}

std::string trust_of(const Evidence& evidence, const Diagnosis& diagnosis) {
  std::string text = fmt::format(
      "{} steps in three windows; the device's part makes a step vary by {}; {} unexplained",
      evidence.steady_steps, percent(evidence.variation),
      percent(diagnosis.shares[Owner::unexplained]));
  text += diagnosis.counterfactuals.empty()
              ? "; no experiment was made"
              : fmt::format("; {} experiments", diagnosis.counterfactuals.size());
  text += above_peak(diagnosis.layers);
  if (evidence.health.other_cores >= 0.2)
    text +=
        fmt::format("; other programs used {:.1f} cores meanwhile", evidence.health.other_cores);
  return text;
}

}  // namespace

std::string machine_name() {
  static const std::string name = read_machine_name();  // every fit asks
  return name;
}

void conclude(Diagnosis& diagnosis, const Evidence& evidence, int64_t least_steps) {
  diagnosis.verdict = judge(evidence, least_steps);
  diagnosis.steps = evidence.steady_steps;
  diagnosis.step_seconds = evidence.step_ns * 1e-9;
  diagnosis.samples_per_second =
      evidence.step_ns > 0 ? double(evidence.batch_size) / evidence.step_ns * 1e9 : 0;
  diagnosis.variation = evidence.variation;
  diagnosis.shares = evidence.total().shares();
  diagnosis.pipeline = report_of(evidence);
  diagnosis.callbacks.clear();
  for (const CallbackFacts& callback : evidence.callbacks)
    diagnosis.callbacks.push_back({callback.name, callback.ns * 1e-9});
  diagnosis.ranks.clear();
  for (const RankFacts& rank : evidence.ranks)
    diagnosis.ranks.push_back({.rank = rank.rank,
                               .host = rank.host,
                               .step_seconds = rank.step_ns * 1e-9,
                               .input_seconds = rank.input_ns * 1e-9,
                               .waiting_seconds = rank.wait_ns * 1e-9,
                               .rows = rank.rows});
  std::vector<Prescription> tried;
  for (Prescription& each : diagnosis.prescriptions)
    if (each.tried) tried.push_back(std::move(each));
  diagnosis.prescriptions = prescriptions_for(diagnosis.verdict, evidence);
  // What has been tried is not proposed again.
  for (const Prescription& each : tried)
    std::erase_if(diagnosis.prescriptions, [&](const Prescription& proposed) {
      return proposed.knob != Knob::none && proposed.knob == each.knob;
    });
  diagnosis.prescriptions.insert(diagnosis.prescriptions.begin(), tried.begin(), tried.end());
  diagnosis.trust = trust_of(evidence, diagnosis);
}

void conclude(Diagnosis& diagnosis, const Evidence& evidence) {
  conclude(diagnosis, evidence, kLeastSteps);
}

const CachedProgram* step_for(const ModelBase& model, int64_t samples) {
  const CachedProgram* largest = nullptr;
  for (const auto& cached : model.trainer->programs.entries()) {
    if (kind_of(*cached) != StepKind::train) continue;
    int64_t batch = cached->specs[0].shape[0];
    if (batch == samples) return cached.get();
    if (largest == nullptr || batch > largest->specs[0].shape[0]) largest = cached.get();
  }
  return largest;
}

bool is_training(const CachedProgram& cached) { return is_training(kind_of(cached)); }

void set_device_knobs(ModelBase& model, const DeviceKnobs& knobs) {
  for (const auto& cached : model.trainer->programs.entries())
    if (is_training(*cached)) cached->program->set_device_knobs(knobs);
}

namespace {

// How many times fewer FLOPs a depthwise and a pointwise convolution have, for each layer that is a
// full one of more than one pixel.
void rate_convolutions(DeviceFacts& device, const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op->name != "conv2d" || node.inputs.size() < 2) continue;
    const Shape& inputs = graph.spec(node.inputs[0]).shape;
    const Shape& kernel = graph.spec(node.inputs[1]).shape;  // [kh, kw, C / groups, filters]
    auto pixels = double(kernel[0] * kernel[1]), filters = double(kernel[3]);
    if (pixels <= 1 || kernel[2] != inputs[3] || kernel[2] < 2) continue;
    for (OpFacts& op : device.ops)
      if (op.layer == node.scope && op.op.starts_with("conv2d"))
        op.separable = pixels * filters / (pixels + filters);
  }
}

// What a step reaches of the peaks, in all and by the nearer peak of each of its ops.
void rate_step(DeviceFacts& device, const std::vector<LayerReport>& rows, const MachinePeaks& peaks,
               double seconds, double held) {
  double flops = 0, arithmetic = 0;
  std::vector<Moved> moves, moving;
  for (const LayerReport& row : rows) {
    Moved moved = moved_by(row);
    flops += row.flops;
    moves.push_back(moved);
    double computes = peaks.compute_share(row.flops, 1);
    if (computes >= peaks.seconds_of(std::array{moved}, held))
      arithmetic += computes;
    else
      moving.push_back(moved);
  }
  device.compute_share = peaks.compute_share(flops, seconds);
  device.bandwidth_share = peaks.bandwidth_share(moves, seconds, held);
  device.at_peak = seconds > 0 ? arithmetic / seconds : 0;
  device.at_bandwidth = peaks.bandwidth_share(moving, seconds, held);
}

}  // namespace

void add_device(Evidence& evidence, const CachedProgram* step, const Context& context) {
  if (step == nullptr) return;
  DeviceFacts& device = evidence.device;
  const BackendTraits& engine = traits_of(context);
  device.gpu = engine.beside_host;
  device.sixteen_bit = compute_dtype_of(context) != DType::float32;
  device.threads = compile_options(context).threads;
  std::optional<DeviceKnobs> knobs = step->program->device_knobs();
  device.pinned = knobs && knobs->pin && evidence.pipeline.page_locked;
  device.tensor_cores = engine.tensor_cores;
  device.kernels = int64_t(step->program->kernels().size());
  device.copy_bytes = device.float_bytes = 0;
  for (const TensorSpec& spec : step->specs) {
    double bytes = double(spec.shape.elements()) * double(size_of(spec.dtype));
    device.copy_bytes += bytes;
    if (spec.dtype == DType::float32) device.float_bytes += bytes;
  }
}

void add_gpu(DeviceFacts& device, const GpuState& gpu) {
  if (gpu.memory_total > 0)
    device.memory_share = double(gpu.memory_bytes) / double(gpu.memory_total);
  device.use = gpu.use;
}

void add_costs(Evidence& evidence, const CachedProgram* step, const Context& context) {
  add_device(evidence, step, context);
  if (step == nullptr) return;
  DeviceFacts& device = evidence.device;
  rate_convolutions(device, *step->graph);
  Accounting total = evidence.total();
  if (total.steps == 0 || total[Owner::compute] == 0) return;
  const std::vector<KernelInfo>& kernels = step->program->kernels();
  std::vector<LayerReport> rows =
      layer_rows(kernels, std::vector<double>(kernels.size()), result_bytes(*step->graph));
  double seconds = double(total[Owner::compute]) * 1e-9 / double(total.steps);
  auto held = double(step->program->memory().total);
  try {
    const MachinePeaks peaks = machine_peaks(context, held);
    rate_step(device, rows, peaks, seconds, held);
    device.link_bandwidth = peaks.link_bytes;
  } catch (const Error&) {
    // No memory is left to measure peaks with: the class of a busy device stays unknown.
  }
}

std::string device_name(const Backend& engine, const Context& context) {
  if (!engine.traits().beside_host)
    return fmt::format("CPU, {} threads", compile_options(context).threads);
  int monitored = monitored_gpu(engine);
  std::string name = monitored >= 0 ? device_monitor().name(monitored) : "";
  return name.empty() ? std::string(engine.traits().title) : name;
}

void add_machine(Diagnosis& diagnosis, ModelBase& model, const Context& context) {
  Backend& engine = engine_of(context);
  diagnosis.machine = machine_name();
  diagnosis.measured_memory = peak_memory_of_process();
  auto samples =
      convert<int64_t>(std::round(diagnosis.samples_per_second * diagnosis.step_seconds));
  const CachedProgram* step = step_for(model, samples);
  diagnosis.device_name = device_name(engine, context);
  if (engine.traits().own_memory && step != nullptr)
    diagnosis.measured_memory = int64_t(step->program->device_counts().bytes);
  if (step == nullptr) return;
  diagnosis.predicted_memory = memory_use(step->program->memory());
}

}  // namespace stoker::doctor
