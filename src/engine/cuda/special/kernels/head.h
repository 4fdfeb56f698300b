// The head of a classifier in one kernel: [2×2 max pooling,] a dense layer, softmax cross-entropy
// with class ids, and the gradients of all of them by what goes in. Every step rounds as the ops
// alone would.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

struct HeadCall {
  static constexpr int kLanes = 8;  // features of a thread: side by side, in one channel group
  DType dtype = DType::float32;
  DType label_dtype = DType::int64;
  int rows = 0, features = 0, classes = 0;
  bool pooled = false;
  bool relu = false;                        // of the pooling's gradient
  int height = 0, width = 0, channels = 0;  // of the image that is pooled

  const void* image = nullptr;    // [rows, height, width, channels], or [rows, features]
  const void* weights = nullptr;  // [classes, features]: the dense layer's kernel, turned
  const void* bias = nullptr;     // [classes], or null
  bool wide_bias = false;         // it is float32, and rounded as it is read
  const void* labels = nullptr;   // [rows]
  const float* slopes = nullptr;  // [rows]: the gradient of each row's loss

  void* pooled_out = nullptr;     // [rows, features], with pooling
  void* logits = nullptr;         // [rows, classes]
  float* losses = nullptr;        // [rows]
  void* logits_grad = nullptr;    // [rows, classes]
  void* features_grad = nullptr;  // [rows, features]
  void* image_grad = nullptr;     // as image, with pooling
};

// Few classes, and so little work that tensor cores would not pay.
bool head_fits(int64_t rows, int64_t features, int64_t classes);
void run_head(const HeadCall& call, cudaStream_t stream);

}  // namespace stoker::cuda
