// Cross-entropy over many classes, whose gradient is a pass of its own over the same memory: the loss leaves every row's
// normalizer behind, so that both read the logits once, as fast as memory gives them.
#include "engine/cuda/kernels/softmax.cuh"

namespace stoker::cuda {

namespace {

constexpr int kLossThreads = 512, kLossVectors = 4;  // vectors of a thread in flight

// The largest number so far, and the sum of exponentials beside it.
struct Running {
  float most = -INFINITY, sum = 0;

  template <class T, int N>
  __device__ void add(const float (&x)[N]) {
    float larger = most;
#pragma unroll
    for (float one : x) larger = fmaxf(larger, one);
    if (larger == -INFINITY) return add_nan<N>(x);
    float total = 0;
#pragma unroll
    for (float one : x) total += exp_for<T>(one - larger);
    sum = (most == -INFINITY ? 0 : sum * exp_for<T>(most - larger)) + total;
    most = larger;
  }
  // fmaxf passes NaN over; the sum must not.
  template <int N>
  __device__ void add_nan(const float (&x)[N]) {
#pragma unroll
    for (float one : x)
      if (one != one) sum = one;
  }
};

// A block has a row. Vectors at its ends hold neighbours, which count as -infinity.
template <class T>
__global__ void __launch_bounds__(kLossThreads) long_loss(const __grid_constant__ SoftmaxCall c) {
  constexpr int kWide = kLanes<T>;
  const int64_t row = blockIdx.x, first = row * c.classes;
  const int before = int(first % kWide), classes = int(c.classes);
  const int vectors = (before + classes + kWide - 1) / kWide;
  const T* x = static_cast<const T*>(c.x) + first - before;
  Running mine;
  for (int v0 = int(threadIdx.x); v0 < vectors; v0 += kLossThreads * kLossVectors) {
    RawPack<T, kWide> loaded[kLossVectors];
#pragma unroll
    for (int u = 0; u < kLossVectors; ++u)
      if (int v = v0 + u * kLossThreads; v < vectors)
        loaded[u] = load_pack<T, kWide>(x + int64_t(v) * kWide);
#pragma unroll
    for (int u = 0; u < kLossVectors; ++u) {
      const int v = v0 + u * kLossThreads, column = v * kWide - before;
      if (v >= vectors) break;
      float numbers[kWide];
      to_floats<T, kWide>(loaded[u], numbers);
      if (column < 0 || column + kWide > classes)
#pragma unroll
        for (int i = 0; i < kWide; ++i)
          if (unsigned(column + i) >= unsigned(classes)) numbers[i] = -INFINITY;
      mine.add<T>(numbers);
    }
  }
  float most = block_reduce(mine.most, -INFINITY, Larger());
  float part = mine.most == -INFINITY ? mine.sum : mine.sum * exp_for<T>(mine.most - most);
  float sum = block_reduce(part, 0.0F, Plus());
  if (threadIdx.x != 0) return;
  float log_sum = logf(sum);
  c.normalizers[row] = make_float2(most, log_sum);
  static_cast<float*>(c.out)[row] =
      log_sum - (to_float(static_cast<const T*>(c.x)[first + label_at(c, row)]) - most);
}

// Vectors of the whole matrix, which may span two rows; out may be x.
template <class T>
__global__ void __launch_bounds__(kBlock) long_loss_grad(const __grid_constant__ SoftmaxCall c) {
  constexpr int kWide = kLanes<T>, kInFlight = 2;
  const int64_t elements = c.rows * c.classes, vectors = elements / kWide;
  const int64_t v0 = int64_t(blockIdx.x) * (kBlock * kInFlight) + threadIdx.x;
  const T* x = static_cast<const T*>(c.x);
  T* out = static_cast<T*>(c.out);
  RawPack<T, kWide> loaded[kInFlight];
#pragma unroll
  for (int u = 0; u < kInFlight; ++u)
    if (int64_t v = v0 + u * kBlock; v < vectors) loaded[u] = load_pack<T, kWide>(x + v * kWide);
  struct Of {
    int64_t end;  // element
    float2 normalizer;
    float slope;
    int64_t label;  // element
  };
  auto row_of = [&](int64_t row) {
    return Of{(row + 1) * c.classes, c.normalizers[row], c.third[row],
              row * c.classes + label_at(c, row)};
  };
  auto slope_at = [](const Of& of, float number, int64_t element) {
    float share = exp_for<T>(number - of.normalizer.x - of.normalizer.y);
    return of.slope * (share - float(element == of.label));
  };
#pragma unroll
  for (int u = 0; u < kInFlight; ++u) {
    const int64_t v = v0 + u * kBlock, begin = v * kWide;
    if (v >= vectors) break;
    const int64_t row = begin / c.classes;
    Of of = row_of(row);
    float numbers[kWide];
    to_floats<T, kWide>(loaded[u], numbers);
    if (begin + kWide <= of.end) {
#pragma unroll
      for (int i = 0; i < kWide; ++i) numbers[i] = slope_at(of, numbers[i], begin + i);
    } else {
      Of next = row_of(row + 1);
#pragma unroll
      for (int i = 0; i < kWide; ++i)
        numbers[i] = slope_at(begin + i < of.end ? of : next, numbers[i], begin + i);
    }
    store_floats<kWide>(numbers, out + begin);
  }
  if (blockIdx.x != 0) return;
  for (int64_t at = vectors * kWide + threadIdx.x; at < elements; at += kBlock)
    out[at] = from_float<T>(slope_at(row_of(at / c.classes), to_float(x[at]), at));
}

}  // namespace

bool has_long_rows(DType dtype, int64_t classes) {
  return classes > 128 * (16 / int64_t(size_of(dtype)));
}

void run_long_loss(const SoftmaxCall& call, cudaStream_t stream) {
  if (call.rows == 0) return;
  visit_float(call.dtype, [&]<class T>(T) {
    if (call.op == SoftmaxOp::sparse_loss) {
      long_loss<T><<<unsigned(call.rows), kLossThreads, 0, stream>>>(call);
    } else {
      int64_t vectors = call.rows * call.classes / kLanes<T>;
      long_loss_grad<T><<<blocks_for(vectors, 2 * kBlock), kBlock, 0, stream>>>(call);
    }
  });
  check_launch("cross-entropy over many classes");
}

}  // namespace stoker::cuda
