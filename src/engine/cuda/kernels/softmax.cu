#include "engine/cuda/kernels/softmax.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

__device__ inline int64_t label_at(const SoftmaxCall& c, int64_t row) {
  int64_t label = c.second_dtype == DType::int32 ? static_cast<const int32_t*>(c.second)[row]
                                                 : static_cast<const int64_t*>(c.second)[row];
  return label >= 0 && label < c.classes ? label : 0;
}

template <class T>
__device__ inline float second_at(const SoftmaxCall& c, int64_t at) {
  if (c.second_dtype == c.dtype) return to_float(static_cast<const T*>(c.second)[at]);
  if (c.second_dtype == DType::float32) return static_cast<const float*>(c.second)[at];
  if (c.second_dtype == DType::float16) return to_float(static_cast<const Half*>(c.second)[at]);
  return to_float(static_cast<const Bfloat*>(c.second)[at]);
}

struct Normalizer {
  float most, log_sum;  // log Σ exp(x) = most + log_sum: apart, so that x - most keeps its digits
};

template <class T>
__device__ Normalizer normalizer(const T* x, int64_t classes) {
  float most = -INFINITY;
  for (int64_t i = threadIdx.x; i < classes; i += blockDim.x) most = fmaxf(most, to_float(x[i]));
  most = block_reduce(most, -INFINITY, Larger());
  float sum = 0;
  for (int64_t i = threadIdx.x; i < classes; i += blockDim.x) sum += expf(to_float(x[i]) - most);
  sum = block_reduce(sum, 0.0F, Plus());
  return {most, logf(sum)};
}

// A block a row.
template <class T>
__global__ void softmax(const __grid_constant__ SoftmaxCall c) {
  int64_t row = blockIdx.x, first = row * c.classes;
  const T* x = static_cast<const T*>(c.x) + first;
  T* out = static_cast<T*>(c.out) + first;
  float* loss = static_cast<float*>(c.out) + row;
  auto each = [&](auto value) {
    for (int64_t i = threadIdx.x; i < c.classes; i += blockDim.x) out[i] = from_float<T>(value(i));
  };
  auto sum_of = [&](auto value) {
    float sum = 0;
    for (int64_t i = threadIdx.x; i < c.classes; i += blockDim.x) sum += value(i);
    return block_reduce(sum, 0.0F, Plus());
  };
  auto at = [&](int64_t i) { return to_float(x[i]); };
  auto second = [&](int64_t i) { return second_at<T>(c, first + i); };
  switch (c.op) {
    case SoftmaxOp::softmax: {
      Normalizer n = normalizer(x, c.classes);
      return each([&](int64_t i) { return expf(at(i) - n.most - n.log_sum); });
    }
    case SoftmaxOp::log_softmax: {
      Normalizer n = normalizer(x, c.classes);
      return each([&](int64_t i) { return at(i) - n.most - n.log_sum; });
    }
    case SoftmaxOp::softmax_grad: {
      float product = sum_of([&](int64_t i) { return second(i) * at(i); });
      return each([&](int64_t i) { return at(i) * (second(i) - product); });
    }
    case SoftmaxOp::log_softmax_grad: {
      float sum = sum_of(second);
      return each([&](int64_t i) { return second(i) - expf(at(i)) * sum; });
    }
    case SoftmaxOp::sparse_loss: {
      Normalizer n = normalizer(x, c.classes);
      if (threadIdx.x == 0) *loss = n.log_sum - (at(label_at(c, row)) - n.most);
      return;
    }
    case SoftmaxOp::sparse_loss_grad: {
      Normalizer n = normalizer(x, c.classes);
      int64_t label = label_at(c, row);
      float slope = c.third[row];
      return each([&](int64_t i) {
        return slope * (expf(at(i) - n.most - n.log_sum) - float(i == label));
      });
    }
    case SoftmaxOp::loss: {
      Normalizer n = normalizer(x, c.classes);
      float total = sum_of([&](int64_t i) { return second(i) * (at(i) - n.most - n.log_sum); });
      if (threadIdx.x == 0) *loss = -total;
      return;
    }
    case SoftmaxOp::loss_grad: {
      Normalizer n = normalizer(x, c.classes);
      float slope = c.third[row], sum = sum_of(second);
      return each(
          [&](int64_t i) { return slope * (sum * expf(at(i) - n.most - n.log_sum) - second(i)); });
    }
  }
}

}  // namespace

void run_softmax(const SoftmaxCall& call, cudaStream_t stream) {
  if (call.rows == 0) return;
  unsigned threads = call.classes <= 64 ? 32 : call.classes <= 1024 ? 128 : 512;
  visit_float(call.dtype,
              [&]<class T>(T) { softmax<T><<<unsigned(call.rows), threads, 0, stream>>>(call); });
  check_launch("softmax");
}

}  // namespace stoker::cuda
