// Augmentation of pictures: base/augment.h on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "base/augment_mix.h"
#include "base/augment_pixels.h"

namespace stoker::cuda {

// x: [batch, from, channels] → y: [batch, to, channels]. state: {seed, step} on the device.
struct AugmentLaunch {
  static constexpr int kMost = 16;
  augment::Stage stages[kMost] = {};
  int count = 0;
  int per_channel = 0;  // the most numbers of a channel that a stage's statistics have
  int64_t batch = 0;
  int32_t channels = 0;
  augment::Extent from = {}, to = {};
  uint64_t stream_number = 0;
  const int64_t* state = nullptr;
  const float* x = nullptr;
  float* y = nullptr;
  void* scratch = nullptr;  // augment_scratch() bytes
};
size_t augment_scratch(const AugmentLaunch& call);
void run_augment(const AugmentLaunch& call, cudaStream_t stream);

// x: [batch, elements] → y
struct MixLaunch {
  augment::Mix mix = {};
  int64_t batch = 0, elements = 0, channels = 0;
  uint64_t stream_number = 0;
  const int64_t* state = nullptr;
  const float* x = nullptr;
  float* y = nullptr;
  augment::Mixed* drawn = nullptr;  // [batch]
};
void run_augment_mix(const MixLaunch& call, cudaStream_t stream);

}  // namespace stoker::cuda
