#include "engine/cuda/special/kernels/head.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32, kLanes8 = HeadCall::kLanes;
constexpr int kMostClasses = 128;
constexpr uint8_t kStopped = 4;  // relu let nothing through

template <class T>
__device__ inline void load8(const T* from, float* to) {
  if constexpr (sizeof(T) == 2) {
    load_floats<8>(from, to);
  } else {
    load_floats<4>(from, to);
    load_floats<4>(from + 4, to + 4);
  }
}

template <class T>
__device__ inline void store8(const float* from, T* to) {
  if constexpr (sizeof(T) == 2) {
    store_floats<8>(from, to);
  } else {
    store_floats<4>(from, to);
    store_floats<4>(from + 4, to + 4);
  }
}

template <class T>
__device__ inline float rounded(float value) {
  return to_float(from_float<T>(value));
}

// The four pixels of an image under eight numbers of its pooled image.
struct Window {
  int64_t corner;
  int right, below;  // steps to the neighbours

  __device__ Window(const HeadCall& c, int64_t row, int vector)
      : right(c.channels), below(c.width * c.channels) {
    int groups = c.channels / kLanes8, pixel = vector / groups, wide = c.width / 2;
    int up = pixel / wide * 2, left = pixel % wide * 2;
    corner =
        ((row * c.height + up) * c.width + left) * c.channels + (vector - pixel * groups) * kLanes8;
  }
  __device__ int64_t at(int place) const {
    return corner + (place % 2 == 1 ? right : 0) + (place / 2 == 1 ? below : 0);
  }
};

__device__ inline int label_of(const HeadCall& c, int64_t row) {
  int64_t label = c.label_dtype == DType::int32 ? static_cast<const int32_t*>(c.labels)[row]
                                                : static_cast<const int64_t*>(c.labels)[row];
  return label >= 0 && label < c.classes ? int(label) : 0;
}

// An odd row or column at the end is under no window.
template <class T>
__device__ inline void clear_edges(const HeadCall& c, int64_t row0, int rows) {
  const int high = c.height / 2 * 2, wide = c.width / 2 * 2;
  if (high == c.height && wide == c.width) return;
  const float zeros[8] = {};
  for (int item = int(threadIdx.x); item < rows * c.height * c.width; item += kThreads) {
    int column = item % c.width, line = item / c.width % c.height;
    if (column < wide && line < high) continue;
    T* to = static_cast<T*>(c.image_grad) + (row0 * c.height * c.width + item) * c.channels;
    for (int channel = 0; channel < c.channels; channel += kLanes8) store8(zeros, to + channel);
  }
}

// Eight numbers of some classes' weights.
template <class T, int Chunk>
struct Weights {
  static constexpr bool kFit = sizeof(T) == 2 && Chunk <= 10;  // in the registers of a thread
  uint4 of[kFit ? Chunk : 1];

  __device__ void load(const HeadCall& c, int vector) {
    const T* weights = static_cast<const T*>(c.weights) + vector * kLanes8;
    if constexpr (kFit)
#pragma unroll
      for (int k = 0; k < Chunk; ++k)
        if (k < c.classes)
          of[k] = *reinterpret_cast<const uint4*>(weights + int64_t(k) * c.features);
  }
};

// visit(k, eight weights) for the classes from `first` on, read anew.
template <class T, int Chunk, class Visit>
__device__ inline void each_class(const HeadCall& c, int vector, int first, Visit visit) {
  const T* weights = static_cast<const T*>(c.weights) + vector * kLanes8;
#pragma unroll
  for (int k = 0; k < Chunk; ++k) {
    if (first + k >= c.classes) continue;
    float w[kLanes8];
    load8(weights + int64_t(first + k) * c.features, w);
    visit(k, w);
  }
}

// The same of what was kept.
template <class T, int Chunk, class Visit>
__device__ inline void each_class(const HeadCall& c, const Weights<T, Chunk>& kept, Visit visit) {
#pragma unroll
  for (int k = 0; k < Chunk; ++k) {
    if (k >= c.classes) continue;
    const unsigned words[4] = {kept.of[k].x, kept.of[k].y, kept.of[k].z, kept.of[k].w};
    float w[kLanes8];
#pragma unroll
    for (int f = 0; f < kLanes8; ++f) {
      auto bits = (unsigned short)(words[f / 2] >> (f % 2 * 16));
      w[f] = to_float(*reinterpret_cast<const T*>(&bits));
    }
    visit(k, w);
  }
}

// Eight features of a row: the largest of four pixels each, and which it was; or as they are.
template <class T, bool Pooled>
__device__ inline void take_features(const HeadCall& c, int64_t row, int vector, T* features,
                                     uint8_t* places) {
  const T* image = static_cast<const T*>(c.image);
  float best[8];
  int64_t at = row * c.features + vector * kLanes8;
  if constexpr (Pooled) {
    Window window(c, row, vector);
    Pack<uint8_t, 8> place = {};
    float four[4][8];
#pragma unroll
    for (int q = 0; q < 4; ++q) load8(image + window.at(q), four[q]);
#pragma unroll
    for (int f = 0; f < 8; ++f) {
      best[f] = four[0][f];
#pragma unroll
      for (int q = 1; q < 4; ++q) {
        if (four[q][f] > best[f]) place.at[f] = uint8_t(q);
        best[f] = max_or_nan(four[q][f], best[f]);
      }
      if (c.relu && !(best[f] > 0)) place.at[f] = kStopped;
    }
    store8(best, static_cast<T*>(c.pooled_out) + at);
    *reinterpret_cast<Pack<uint8_t, 8>*>(places) = place;
  } else {
    load8(image + at, best);
  }
  store8(best, features);
}

template <class T, bool Pooled>
__device__ inline void give_gradient(const HeadCall& c, int64_t row, int vector,
                                     const float* gradient, const uint8_t* places) {
  store8(gradient, static_cast<T*>(c.features_grad) + row * c.features + vector * kLanes8);
  if constexpr (Pooled) {
    auto place = *reinterpret_cast<const Pack<uint8_t, 8>*>(places);
    Window window(c, row, vector);
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      float slopes[8];
#pragma unroll
      for (int f = 0; f < 8; ++f) slopes[f] = place.at[f] == q ? gradient[f] : 0;
      store8(slopes, static_cast<T*>(c.image_grad) + window.at(q));
    }
  }
}

// A warp: the loss of a row, and `scores` from logits to their gradient.
template <class T>
__device__ inline void take_loss(const HeadCall& c, int64_t row, int label, float slope,
                                 float* scores) {
  const int lane = int(threadIdx.x) % 32;
  float most = -INFINITY, sum = 0;
  for (int k = lane; k < c.classes; k += 32) most = fmaxf(most, scores[k]);
  for (int offset = 16; offset > 0; offset /= 2)
    most = fmaxf(most, __shfl_xor_sync(~0U, most, offset));
  for (int k = lane; k < c.classes; k += 32) sum += expf(scores[k] - most);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0U, sum, offset);
  float log_sum = logf(sum);
  if (lane == 0) c.losses[row] = log_sum - (scores[label] - most);
  __syncwarp();
  for (int k = lane; k < c.classes; k += 32) {
    T narrow = from_float<T>(slope * (expf(scores[k] - most - log_sum) - float(k == label)));
    static_cast<T*>(c.logits_grad)[row * c.classes + k] = narrow;
    scores[k] = to_float(narrow);
  }
}

// N sums over a warp at once: at every step a lane gives half of them away and adds to the others,
// so that together they take little more than N steps instead of five times N. Afterwards values[0]
// is the sum of the one whose number is returned; -1: of none.
template <int N, int Offset = 16>
__device__ inline int add_over_warp(float* values) {
  constexpr int kHalf = (N + 1) / 2;
  const bool upper = (int(threadIdx.x) & Offset) != 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    float low = values[i], high = i + kHalf < N ? values[i + kHalf] : 0;
    values[i] = (upper ? high : low) + __shfl_xor_sync(~0U, upper ? low : high, Offset);
  }
  int which = 0;
  if constexpr (Offset > 1) which = add_over_warp<kHalf, Offset / 2>(values);
  if (which < 0 || !upper) return which;
  return which + kHalf < N ? which + kHalf : -1;
}

// A block has `Rows` rows of the batch; a thread the same eight features of each, all the way. What
// it keeps of them lies in shared memory, where only it reads and writes. `Chunk` classes at a time
// are added in registers; of one row the first ones' weights are kept there too.
template <class T, int Rows, int Chunk, bool Pooled>
__global__ void __launch_bounds__(kThreads, Rows == 1 ? 1 : 2)
    head(const __grid_constant__ HeadCall c) {
  extern __shared__ __align__(16) unsigned char kept[];
  __shared__ float parts[kWarps][Rows * Chunk];
  __shared__ float scores[Rows][kMostClasses];  // logits, then their gradients
  constexpr bool kKeeps = Rows == 1 && Weights<T, Chunk>::kFit;
  const int warp = int(threadIdx.x) / 32;
  const int vectors = c.features / kLanes8;
  const int64_t row0 = int64_t(blockIdx.x) * Rows;
  const int rows = int(min(int64_t(Rows), c.rows - row0));
  T* features = reinterpret_cast<T*>(kept);
  uint8_t* places = kept + size_t(Rows) * size_t(c.features) * sizeof(T);
  auto own = [&](int r, int vector) { return r * c.features + vector * kLanes8; };

  // Read early: the loss comes after the products, and would wait for these.
  const int label = warp < rows ? label_of(c, row0 + warp) : 0;
  const float slope = warp < rows ? c.slopes[row0 + warp] : 0;
  Weights<T, Chunk> weights;
  if constexpr (kKeeps)
    if (int(threadIdx.x) < vectors) weights.load(c, int(threadIdx.x));
  for (int vector = int(threadIdx.x); vector < vectors; vector += kThreads)
#pragma unroll
    for (int r = 0; r < Rows; ++r)
      if (r < rows)
        take_features<T, Pooled>(c, row0 + r, vector, features + own(r, vector),
                                 places + own(r, vector));
  if constexpr (Pooled) clear_edges<T>(c, row0, rows);

  for (int first = 0; first < c.classes; first += Chunk) {
    float sums[Rows][Chunk] = {};
    for (int vector = int(threadIdx.x); vector < vectors; vector += kThreads) {
      float x[Rows][8] = {};
#pragma unroll
      for (int r = 0; r < Rows; ++r)
        if (r < rows) load8(features + own(r, vector), x[r]);
      auto add = [&](int k, const float* w) {
#pragma unroll
        for (int r = 0; r < Rows; ++r)
#pragma unroll
          for (int f = 0; f < 8; ++f) sums[r][k] += x[r][f] * w[f];
      };
      if (kKeeps && first == 0 && vector == int(threadIdx.x))
        each_class(c, weights, add);
      else
        each_class<T, Chunk>(c, vector, first, add);
    }
    __syncthreads();  // the chunk before has been read
    static_assert(Rows * Chunk <= 32, "a sum a lane");
    if (int item = add_over_warp<Rows * Chunk>(&sums[0][0]); item >= 0)
      parts[warp][item] = sums[0][0];
    __syncthreads();
    for (int item = int(threadIdx.x); item < Rows * Chunk; item += kThreads) {
      int r = item / Chunk, k = first + item % Chunk;
      if (r >= rows || k >= c.classes) continue;
      float sum = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) sum += parts[w][item];
      if (c.bias != nullptr)
        sum += c.wide_bias ? rounded<T>(static_cast<const float*>(c.bias)[k])
                           : to_float(static_cast<const T*>(c.bias)[k]);
      T logit = from_float<T>(sum);
      static_cast<T*>(c.logits)[(row0 + r) * c.classes + k] = logit;
      scores[r][k] = to_float(logit);
    }
  }
  __syncthreads();
  if (warp < rows) take_loss<T>(c, row0 + warp, label, slope, scores[warp]);
  __syncthreads();

  for (int vector = int(threadIdx.x); vector < vectors; vector += kThreads) {
    float sums[Rows][8] = {};
    for (int first = 0; first < c.classes; first += Chunk) {
      auto add = [&](int k, const float* w) {
#pragma unroll
        for (int r = 0; r < Rows; ++r)
#pragma unroll
          for (int f = 0; f < 8; ++f) sums[r][f] += w[f] * scores[r][first + k];
      };
      if (kKeeps && first == 0 && vector == int(threadIdx.x))
        each_class(c, weights, add);
      else
        each_class<T, Chunk>(c, vector, first, add);
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r)
      if (r < rows) give_gradient<T, Pooled>(c, row0 + r, vector, sums[r], places + own(r, vector));
  }
}

template <class T, int Rows, int Chunk, bool Pooled>
void launch(const HeadCall& call, cudaStream_t stream) {
  size_t bytes = size_t(Rows) * size_t(call.features) * (sizeof(T) + size_t(Pooled));
  auto kernel = head<T, Rows, Chunk, Pooled>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
        "shared memory of a head");
  kernel<<<blocks_for(call.rows, Rows), kThreads, bytes, stream>>>(call);
}

template <class T, int Rows, int Chunk>
void launch_pooled(const HeadCall& call, cudaStream_t stream) {
  if (call.pooled)
    launch<T, Rows, Chunk, true>(call, stream);
  else
    launch<T, Rows, Chunk, false>(call, stream);
}

// A block a row while that does not fill the GPU twice; then two, which read the weights once, and
// two blocks a multiprocessor, so that one computes while the other waits for memory.
template <class T, int Chunk>
void launch_rows(const HeadCall& call, cudaStream_t stream) {
  if (call.rows <= 264)
    launch_pooled<T, 1, Chunk>(call, stream);
  else
    launch_pooled<T, 2, Chunk>(call, stream);
}

}  // namespace

bool head_fits(int64_t rows, int64_t features, int64_t classes) {
  return rows > 0 && features > 0 && features % kLanes8 == 0 && features <= 8192 && classes > 0 &&
         classes <= kMostClasses && rows * features * classes <= int64_t(64) << 20;
}

void run_head(const HeadCall& call, cudaStream_t stream) {
  visit_float(call.dtype, [&]<class T>(T) {
    if (call.classes <= 10)
      launch_rows<T, 10>(call, stream);
    else
      launch_rows<T, 16>(call, stream);
  });
  check_launch("head");
}

}  // namespace stoker::cuda
