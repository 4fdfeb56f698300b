// A block draws for a sample and takes the statistics of its channels, then a thread makes a pixel.
#include "engine/cuda/kernels/augment.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

using augment::Drawn;
using augment::Kind;
using augment::Picture;

__device__ augment::Key key_of(const int64_t* state, uint64_t stream, int64_t sample) {
  constexpr uint64_t kStreamsPerStep = 65536;
  return {uint64_t(state[0]), uint64_t(state[1]) * kStreamsPerStep + stream, uint64_t(sample)};
}

__device__ Drawn* drawn_of(const AugmentLaunch& c) { return static_cast<Drawn*>(c.scratch); }
__device__ float* statistics_of(const AugmentLaunch& c, int64_t sample) {
  return reinterpret_cast<float*>(drawn_of(c) + c.batch) + sample * c.channels * c.per_channel;
}
__device__ Picture<float> picture_of(const AugmentLaunch& c, int64_t sample) {
  int64_t elements = int64_t(c.from.height) * c.from.width * c.channels;
  return {c.x + sample * elements, c.from.height, c.from.width, c.channels};
}

// Of all threads of the block; `combine` is associative. In shared memory, in one order always.
template <class Combine>
__device__ float across_block(float value, Combine combine) {
  __shared__ float values[kBlock];
  values[threadIdx.x] = value;
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (int(threadIdx.x) < half)
      values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
    __syncthreads();
  }
  float result = values[0];
  __syncthreads();
  return result;
}

__device__ void channel_statistics(const Drawn& d, const Picture<float>& from, int channel,
                                   float* own) {
  __shared__ uint32_t counts[augment::kMostBins];
  int64_t pixels = int64_t(from.height) * from.width;
  auto value = [&](int64_t i) { return from.data[i * from.channels + channel]; };
  if (d.kind == Kind::contrast) {
    float sum = 0;
    for (int64_t i = threadIdx.x; i < pixels; i += kBlock) sum += value(i);
    sum = across_block(sum, [](float a, float b) { return a + b; });
    if (threadIdx.x == 0) own[0] = sum / float(pixels);
  } else if (d.kind == Kind::auto_contrast) {
    float low = augment::to_bytes(d, value(0)), high = low;
    for (int64_t i = threadIdx.x; i < pixels; i += kBlock) {
      float one = augment::to_bytes(d, value(i));
      low = fminf(low, one);
      high = fmaxf(high, one);
    }
    low = across_block(low, [](float a, float b) { return fminf(a, b); });
    high = across_block(high, [](float a, float b) { return fmaxf(a, b); });
    if (threadIdx.x == 0) {
      own[0] = low;
      own[1] = high;
    }
  } else if (d.kind == Kind::equalization) {
    int bins = int(d.m[0]);
    for (int bin = int(threadIdx.x); bin < bins; bin += kBlock) counts[bin] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < pixels; i += kBlock)
      atomicAdd(&counts[augment::bin_of(d, value(i), bins)], 1U);
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int bin = 0; bin < bins; ++bin) own[bin] = float(counts[bin]);
      augment::counts_to_levels(own, bins);
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kBlock) draw_samples(const __grid_constant__ AugmentLaunch c) {
  for (int64_t sample = blockIdx.x; sample < c.batch; sample += gridDim.x) {
    if (threadIdx.x == 0)
      drawn_of(c)[sample] =
          augment::draw(c.stages, c.count, key_of(c.state, c.stream_number, sample), c.from, c.to);
    __syncthreads();
    Drawn drawn = drawn_of(c)[sample];
    int per_channel = augment::statistics_per_channel(drawn.kind);
    for (int channel = 0; per_channel > 0 && channel < c.channels; ++channel)
      channel_statistics(drawn, picture_of(c, sample), channel,
                         statistics_of(c, sample) + channel * per_channel);
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kBlock) make_pixels(const __grid_constant__ AugmentLaunch c) {
  int64_t pixels = int64_t(c.to.height) * c.to.width;
  for (int64_t i = int64_t(blockIdx.x) * kBlock + threadIdx.x; i < c.batch * pixels;
       i += int64_t(gridDim.x) * kBlock) {
    int64_t sample = i / pixels, place = i % pixels;
    augment::pixel(drawn_of(c)[sample], statistics_of(c, sample), picture_of(c, sample),
                   int32_t(place / c.to.width), int32_t(place % c.to.width), c.y + i * c.channels);
  }
}

__global__ void draw_mixed(const __grid_constant__ MixLaunch c) {
  int64_t sample = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (sample < c.batch)
    c.drawn[sample] = augment::draw_mix(c.mix, key_of(c.state, c.stream_number, sample), c.batch);
}

__global__ void __launch_bounds__(kBlock) mix_elements(const __grid_constant__ MixLaunch c) {
  for (int64_t i = int64_t(blockIdx.x) * kBlock + threadIdx.x; i < c.batch * c.elements;
       i += int64_t(gridDim.x) * kBlock) {
    int64_t sample = i / c.elements, element = i % c.elements;
    const augment::Mixed& mixed = c.drawn[sample];
    c.y[i] = augment::mixed_value(c.mix, mixed, c.x[i], c.x[mixed.partner * c.elements + element],
                                  element, c.channels);
  }
}

}  // namespace

size_t augment_scratch(const AugmentLaunch& call) {
  return size_t(call.batch) * sizeof(Drawn) +
         size_t(call.batch * call.channels * call.per_channel) * sizeof(float) + sizeof(Drawn);
}

void run_augment(const AugmentLaunch& call, cudaStream_t stream) {
  int64_t pixels = call.batch * call.to.height * call.to.width;
  if (pixels * call.channels == 0) return;
  draw_samples<<<unsigned(call.batch < 65535 ? call.batch : 65535), kBlock, 0, stream>>>(call);
  make_pixels<<<blocks_for(pixels, kBlock), kBlock, 0, stream>>>(call);
  check_launch("augment");
}

void run_augment_mix(const MixLaunch& call, cudaStream_t stream) {
  if (call.batch * call.elements == 0) return;
  constexpr int kFew = 32;
  draw_mixed<<<unsigned((call.batch + kFew - 1) / kFew), kFew, 0, stream>>>(call);
  mix_elements<<<blocks_for(call.batch * call.elements, kBlock), kBlock, 0, stream>>>(call);
  check_launch("augment_mix");
}

}  // namespace stoker::cuda
