#include "observe/report_json.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "formats/json.h"

namespace stoker::doctor {

using nlohmann::json;

json to_json(const StepShares& shares) {
  json object = json::object();
  for (size_t i = 0; i < kOwners; ++i) object[std::string(name(Owner(i)))] = shares.share[i];
  return object;
}

json to_json(const LayerReport& layer) {
  return {{"layer", layer.layer},
          {"op", layer.op},
          {"kernel", layer.kernel},
          {"phase", layer.phase},
          {"seconds", layer.seconds},
          {"flops", layer.flops},
          {"bytes", layer.bytes},
          {"compute_share", layer.compute_share},
          {"bandwidth_share", layer.bandwidth_share},
          {"limit", name(layer.limit)},
          {"written", layer.written},
          {"memory", layer.memory},
          {"live", layer.live}};
}

json to_json(const MemoryUse& memory) {
  return {{"weights", memory.weights},     {"gradients", memory.gradients},
          {"optimizer", memory.optimizer}, {"activations", memory.activations},
          {"workspace", memory.workspace}, {"inputs", memory.inputs},
          {"metrics", memory.metrics},     {"total", memory.total}};
}

namespace {

json to_json(const FitShares& fit) {
  if (fit.seconds <= 0) return nullptr;
  return {{"seconds", fit.seconds},         {"steps", fit.steps},
          {"read_back", fit.read_back},     {"validation", fit.validation},
          {"epoch_turns", fit.epoch_turns}, {"unexplained", fit.unexplained}};
}

json to_json(const PipelineReport& pipeline) {
  if (!pipeline.known) return nullptr;
  json stages = json::array();
  for (const StageReport& stage : pipeline.stages)
    stages.push_back({{"name", stage.name},
                      {"seconds_per_element", stage.seconds},
                      {"cpu_share", stage.cpu_share < 0 ? json(nullptr) : json(stage.cpu_share)},
                      {"longest_seconds", stage.longest_seconds},
                      {"bytes_per_element", stage.bytes},
                      {"share", stage.share},
                      {"random", stage.random}});
  return {{"workers", pipeline.workers},
          {"depth", pipeline.depth},
          {"as_written", pipeline.as_written},
          {"tuned", pipeline.tuned},
          {"ready_share", pipeline.workers > 0 ? json(pipeline.ready_share) : json(nullptr)},
          {"median_wait_seconds", pipeline.median_wait_seconds},
          {"busy_share", pipeline.busy_share},
          {"cache_after", pipeline.cache_after},
          {"cache_bytes", pipeline.cache_bytes},
          {"stages", stages}};
}

json to_json(const Prescription& prescription) {
  json object{{"action", name(prescription.action)},
              {"what", prescription.what},
              {"why", prescription.why},
              {"predicted_step_seconds", prescription.predicted_step_seconds > 0
                                             ? json(prescription.predicted_step_seconds)
                                             : json(nullptr)},
              {"knob", name(prescription.knob)},
              {"changes_results", prescription.changes_results},
              {"provided", prescription.provided},
              {"tried", prescription.tried}};
  if (prescription.tried)
    object.update(
        {{"kept", prescription.kept},
         {"before_seconds", prescription.before_seconds},
         {"after_seconds", prescription.after_seconds},
         {"gain", prescription.gain},
         {"gain_interval", {prescription.gain_low, prescription.gain_high}},
         {"settled_seconds",
          prescription.settled_seconds > 0 ? json(prescription.settled_seconds) : json(nullptr)}});
  return object;
}

json number(double value) { return value < 0 ? json(nullptr) : json(value); }

json to_json(const DeviceSample& sample) {
  return {{"time", sample.time},
          {"use", number(sample.use)},
          {"memory_bytes", number(sample.memory_bytes)},
          {"power_watts", number(sample.power_watts)},
          {"clock_mhz", number(sample.clock_mhz)},
          {"occupancy", number(sample.occupancy)},
          {"tensor_use", number(sample.tensor_use)},
          {"memory_use", number(sample.memory_use)},
          {"process_cores", number(sample.process_cores)},
          {"other_cores", number(sample.other_cores)}};
}

json to_json(const BreakdownPoint& point) {
  return {{"time", point.time},
          {"step_seconds", point.step_seconds},
          {"shares", to_json(point.shares)}};
}

json to_json(const CallbackReport& callback) {
  return {{"name", callback.name}, {"seconds_per_step", callback.seconds}};
}

json to_json(const RankReport& rank) {
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"step_seconds", rank.step_seconds},
          {"input_seconds", rank.input_seconds},
          {"waiting_seconds", rank.waiting_seconds},
          {"rows", rank.rows}};
}

json to_json(const Counterfactual& experiment) {
  return {{"name", experiment.name},
          {"step_seconds", experiment.seconds},
          {"meaning", experiment.meaning}};
}

template <class T>
json list_of(const std::vector<T>& items) {
  json list = json::array();
  for (const T& item : items) list.push_back(to_json(item));
  return list;
}

}  // namespace

json diagnosis_json(const Diagnosis& diagnosis) {
  const Verdict& verdict = diagnosis.verdict;
  return {{"stoker_doctor", 1},
          {"verdict",
           {{"finding", name(verdict.finding)},
            {"limit", name(verdict.limit)},
            {"cause", name(verdict.cause)},
            {"limit_cause", name(verdict.limit_cause)},
            {"high", verdict.high},
            {"culprit", verdict.culprit},
            {"sentence", verdict.sentence},
            {"health", verdict.health},
            {"hints", verdict.hints}}},
          {"steps", diagnosis.steps},
          {"step_seconds", diagnosis.step_seconds},
          {"samples_per_second", diagnosis.samples_per_second},
          {"variation", diagnosis.variation},
          {"shares", to_json(diagnosis.shares)},
          {"fit", to_json(diagnosis.fit)},
          {"looked_seconds", diagnosis.looked_seconds},
          {"course", list_of(diagnosis.course)},
          {"pipeline", to_json(diagnosis.pipeline)},
          {"callbacks", list_of(diagnosis.callbacks)},
          {"ranks", list_of(diagnosis.ranks)},
          {"layers", list_of(diagnosis.layers)},
          {"experiments", list_of(diagnosis.counterfactuals)},
          {"prescriptions", list_of(diagnosis.prescriptions)},
          {"device", list_of(diagnosis.device)},
          {"predicted_memory",
           diagnosis.predicted_memory ? to_json(*diagnosis.predicted_memory) : json(nullptr)},
          {"measured_memory_bytes", diagnosis.measured_memory},
          {"device_name", diagnosis.device_name},
          {"machine", diagnosis.machine},
          {"peak_flops", diagnosis.peak_flops},
          {"peak_bandwidth", diagnosis.peak_bandwidth},
          {"peak_cache_bandwidth", diagnosis.peak_cache_bandwidth},
          {"trust", diagnosis.trust}};
}

std::string Diagnosis::json() const { return dump_report(diagnosis_json(*this), 2) + "\n"; }

void Diagnosis::write(const std::string& folder) const {
  local_files().create_directories(folder);
  write_file_atomically(folder + "/doctor.json", json());
  write_file_atomically(folder + "/doctor.html", html());
}

}  // namespace stoker::doctor
