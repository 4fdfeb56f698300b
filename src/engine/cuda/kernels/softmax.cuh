// What an op of softmax.h does with a row, wherever that lies.
#pragma once

#include "engine/cuda/kernels/common.cuh"
#include "engine/cuda/kernels/softmax.h"

namespace stoker::cuda {

constexpr int kFewClasses = 32;
// Rows of up to kFewClasses.
void run_softmax_few(const SoftmaxCall& call, cudaStream_t stream);

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

// To the digits that a result of T keeps.
template <class T>
__device__ inline float exp_for(float x) {
  if constexpr (sizeof(T) == 4)
    return expf(x);
  else
    return __expf(x);
}

struct Normalizer {
  float most, log_sum;  // log Σ exp(x) = most + log_sum: apart, so that x - most keeps its digits
};

// Every op, over a row that gives each number of x and of the second operand, and takes results:
//   row.most(value), row.sum(value)     over value(x, second, column)
//   row.put(value)                      result at each column
//   row.at(column)                      x
//   row.leads()                         whether this thread writes a result of the row
template <class T, class Row>
__device__ void softmax_row(const SoftmaxCall& c, int64_t index, Row& row) {
  auto normalizer = [&] {
    float most = row.most([](float x, auto, int) { return x; });
    float sum = row.sum([=](float x, auto, int) { return exp_for<T>(x - most); });
    return Normalizer{most, logf(sum)};
  };
  float* loss = static_cast<float*>(c.out) + index;
  switch (c.op) {
    case SoftmaxOp::softmax: {
      Normalizer n = normalizer();
      return row.put([=](float x, auto, int) { return exp_for<T>(x - n.most - n.log_sum); });
    }
    case SoftmaxOp::log_softmax: {
      Normalizer n = normalizer();
      return row.put([=](float x, auto, int) { return x - n.most - n.log_sum; });
    }
    case SoftmaxOp::softmax_grad: {
      float product = row.sum([](float x, auto second, int) { return second() * x; });
      return row.put([=](float x, auto second, int) { return x * (second() - product); });
    }
    case SoftmaxOp::log_softmax_grad: {
      float sum = row.sum([](float, auto second, int) { return second(); });
      return row.put([=](float x, auto second, int) { return second() - exp_for<T>(x) * sum; });
    }
    case SoftmaxOp::sparse_loss: {
      Normalizer n = normalizer();
      if (row.leads()) *loss = n.log_sum - (row.at(label_at(c, index)) - n.most);
      return;
    }
    case SoftmaxOp::sparse_loss_grad: {
      Normalizer n = normalizer();
      auto label = int(label_at(c, index));
      float slope = c.third[index];
      return row.put([=](float x, auto, int column) {
        return slope * (exp_for<T>(x - n.most - n.log_sum) - float(column == label));
      });
    }
    case SoftmaxOp::loss: {
      Normalizer n = normalizer();
      float total =
          row.sum([=](float x, auto second, int) { return second() * (x - n.most - n.log_sum); });
      if (row.leads()) *loss = -total;
      return;
    }
    case SoftmaxOp::loss_grad: {
      Normalizer n = normalizer();
      float slope = c.third[index];
      float sum = row.sum([](float, auto second, int) { return second(); });
      return row.put([=](float x, auto second, int) {
        return slope * (sum * exp_for<T>(x - n.most - n.log_sum) - second());
      });
    }
  }
}

__device__ __host__ inline bool has_second_numbers(SoftmaxOp op) {
  return op == SoftmaxOp::softmax_grad || op == SoftmaxOp::log_softmax_grad ||
         op == SoftmaxOp::loss || op == SoftmaxOp::loss_grad;
}

}  // namespace stoker::cuda
