// One recurrent layer of cuDNN: its descriptors, and where its weights lie. All sequences have the
// full length; data are [T, B, n].
#pragma once

#include <memory>

#include "engine/cuda/device.h"
#include "engine/cuda/kernels/recurrent.h"
#include "graph/ops/recurrent.h"

namespace stoker::cuda {

class CudnnRecurrent {
 public:
  struct Sizes {
    size_t weights = 0, work = 0, reserve = 0;  // bytes
  };
  struct Forward {
    const void *x, *h, *c, *weights;
    void *y, *last_h, *last_c, *work, *reserve;
  };
  struct Backward {
    const void *x, *h, *c, *weights, *y, *dy, *dlast_h, *dlast_c;
    void *dx, *dh, *dc, *dweights, *work, *reserve;
  };

  // Null where cuDNN has no kernel for it.
  static std::shared_ptr<const CudnnRecurrent> make(const RecurrentShape& shape, DType dtype,
                                                    bool training, bool tf32, const Device& device);

  const Sizes& sizes() const { return sizes_; }
  static constexpr const char* kName = "cudnn:recurrent";
  // The places of the weights in `space`, in the order of the graph's gates.
  void find_weights(const Device& device, void* space, RecurrentWeights& weights) const;
  // On the stream that cuDNN's handle has.
  void forward(const Device& device, const Forward& at) const;
  // dx may be null only where cuDNN need not make it; dweights is zeroed before.
  void backward(const Device& device, const Backward& at, cudaStream_t stream) const;

  CudnnRecurrent(const RecurrentShape& shape, DType dtype, bool training);
  ~CudnnRecurrent();
  CudnnRecurrent(const CudnnRecurrent&) = delete;
  CudnnRecurrent& operator=(const CudnnRecurrent&) = delete;

 private:
  bool set_up(bool tf32, const Device& device);

  RecurrentShape shape_;
  DType dtype_;
  bool training_;
  Sizes sizes_;
  cudnnRNNDescriptor_t layer_ = nullptr;
  cudnnDropoutDescriptor_t dropout_ = nullptr;
  cudnnRNNDataDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnTensorDescriptor_t state_ = nullptr;
};

}  // namespace stoker::cuda
