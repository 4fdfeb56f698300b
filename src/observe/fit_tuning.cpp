#include "observe/fit_tuning.h"

#include <utility>

#include "observe/observed.h"
#include "observe/thresholds.h"
#include "train/fit/loops.h"

namespace stoker::doctor {

void FitTuning::step_ended(const StepTimes& times) {
  if (!is_under_way() || recording_.steps() < kWarmUp + kPatience) return;
  if (!tuning_ && !begin()) return;
  tuning_->step_ended(times.end - times.asked);
  done_ = tuning_->done();
  if (done_) recording_.begin_anew();  // what limits next
}

// Only where something can be done; whether the device waits for input is looked at for a while.
bool FitTuning::begin() {
  BatchStream* stream = view_.training.stream();
  std::optional<PipelineStatistics> pipeline;
  PipelineStatistics statistics;
  if (stream != nullptr && stream->measure(statistics)) pipeline = std::move(statistics);
  Evidence evidence = recording_.evidence(size_t(kPatience));
  const CachedProgram* step = step_for(view_.model, evidence.batch_size);
  std::optional<DeviceKnobs> device = step ? step->program->device_knobs() : std::nullopt;
  bool waits = evidence.total().shares()[Owner::input] >= kWorthIt;
  std::vector<Remedy> remedies = remedies_for(pipeline, device, waits, evidence.batch_size);
  if (remedies.empty()) {
    done_ = recording_.steps() > int64_t(kWordWindow);  // it will not begin to wait
    return false;
  }
  tuning_.emplace(std::move(remedies), TuneSettings{.device = device.value_or(DeviceKnobs{})},
                  [this](const TuneSettings& settings) { apply(settings); });
  return true;
}

void FitTuning::apply(const TuneSettings& settings) {
  // Of all programs: the latest may be that of an epoch's last batch.
  set_device_knobs(view_.model, settings.device);
  BatchStream* stream = view_.training.stream();
  if (stream == nullptr || settings.pipeline == pipeline_knobs_) return;
  stream->retune(settings.pipeline);
  pipeline_knobs_ = settings.pipeline;
}

}  // namespace stoker::doctor
