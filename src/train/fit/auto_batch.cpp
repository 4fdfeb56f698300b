#include <stoker/auto_batch.h>

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "engine/backend.h"
#include "train/model/memory_table.h"
#include "train/step/steps.h"

namespace stoker {

namespace {

constexpr int64_t kSmallest = 8;
constexpr int64_t kLargestOnCpu = 128, kLargestOnGpu = 1024;
constexpr int64_t kStepsInAnEpoch = 32;
constexpr double kShareOfCpu = 0.5;  // the rest is the pipeline's, and other people's
constexpr double kShareOfGpu = 0.9;

int64_t power_of_two_up_to(int64_t number) {
  return int64_t(std::bit_floor(uint64_t(std::max(number, kSmallest))));
}

// Rules 1 to 3.
int64_t ceiling(const AutoBatchArgs& args, bool gpu) {
  int64_t largest = args.largest > 0 ? args.largest : gpu ? kLargestOnGpu : kLargestOnCpu;
  if (args.samples > 0) largest = std::min(largest, args.samples / kStepsInAnEpoch);
  return power_of_two_up_to(largest);
}

// Bytes of a step; the largest number there is where the device itself says that it does not fit.
size_t planned(const Model& model, int64_t batch) {
  try {
    if (std::optional<MemoryUse> plan = model.memory_plan(batch)) return plan->total;
  } catch (const OutOfMemoryError&) {
    return SIZE_MAX;
  }
  throw Error(
      "auto_batch_size: the memory plan of this model cannot be known before its first step (not "
      "compiled, or a loss of your own); give a batch size");
}

}  // namespace

int64_t auto_batch_size(const Model& model, const AutoBatchArgs& args) {
  if (args.samples < 0 || args.largest < 0 || args.memory < 0)
    throw ValueError(
        fmt::format("auto_batch_size: samples is {}, largest {} and memory {}; expected 0 or more",
                    args.samples, args.largest, args.memory));
  const Context& context = *trainer_of(ModelAccess::base(model)).context;
  Backend& engine = engine_of(context);
  bool gpu = engine.traits().own_memory;
  // Asked before any plan takes its part.
  double free = double(engine.free_bytes(compile_options(context)));
  double allowed = args.memory > 0 ? double(args.memory) : free * (gpu ? kShareOfGpu : kShareOfCpu);
  if (allowed == 0) allowed = 1e300;  // nothing is known about this machine

  int64_t batch = ceiling(args, gpu);
  auto least = double(planned(model, kSmallest));
  if (least > allowed)
    throw Error(fmt::format(
        "auto_batch_size: a step of {} samples takes {}, but {} may be used; the model or its "
        "pictures are too large for this device",
        kSmallest, human_bytes(least), human_bytes(allowed)));
  // The plan grows by the same amount with every sample, but for rounding: two small plans tell
  // where to look, and only what is likely to fit is compiled.
  double slope = (double(planned(model, 2 * kSmallest)) - least) / double(kSmallest);
  while (batch > kSmallest && least + slope * double(batch - kSmallest) > 1.05 * allowed)
    batch /= 2;
  while (batch > kSmallest && double(planned(model, batch)) > allowed) batch /= 2;
  return batch;
}

}  // namespace stoker
