// Custom CUDA kernels as a layer: forward and backward launch them on a stream, on memory of the GPU.
//
//   void launch_square(const float* x, float* y, int64_t count, cudaStream_t stream);  // in a .cu
//
//   Layer square = CudaLayer([](const CudaArray& x, const CudaArray& y, CUstream_st* stream) {
//     launch_square(x.as<float>(), y.as<float>(), x.elements(), stream);
//   });
//
// The step is captured once and then replayed: a function is called while that happens, not in
// every step, and what it launches must not depend on anything but its arguments. It launches on
// the stream and returns; it neither waits nor allocates. Addresses differ from call to call. Where
// there is no GPU, the host functions run; without them training there is an Error. This header
// needs nothing of CUDA: a program compiles without the toolkit, too.
#pragma once

#include <stoker/layers.h>

struct CUstream_st;  // what a cudaStream_t points to

namespace stoker {

// Row-major, in the memory of the GPU.
struct CudaArray {
  void* data = nullptr;
  TensorSpec spec;

  int64_t elements() const { return spec.shape.elements(); }
  // Error unless the elements are of this type; 16-bit floats are Float16 and BFloat16.
  template <class T>
  T* as() const {
    expect(dtype_of<std::remove_const_t<T>>);
    return static_cast<T*>(data);
  }
  void expect(DType dtype) const;
};

// Writes y.
using CudaForward =
    std::function<void(const CudaArray& x, const CudaArray& y, CUstream_st* stream)>;
// Writes dx, the gradient with respect to x, from dy.
using CudaBackward = std::function<void(const CudaArray& x, const CudaArray& y, const CudaArray& dy,
                                        const CudaArray& dx, CUstream_st* stream)>;

struct CudaLayerOptions {
  HostForward host_forward = {};  // the same on the CPU
  HostBackward host_backward = {};
  std::function<Shape(const Shape& input)> output_shape = {};  // batch included; none: the input's
  std::string name = "";
  std::string dtype = "";  // "float32": the kernels see float32 under any policy
};
// Without a backward function nothing before it learns. load_model takes it from
// custom_objects, by its name.
class CudaLayer : public Layer {
 public:
  explicit CudaLayer(CudaForward forward, CudaBackward backward = {},
                     const CudaLayerOptions& options = {});
};

}  // namespace stoker
