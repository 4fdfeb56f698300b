// HostLayer: own C++ on host memory, as the op "host_call". CudaLayer: the same, with kernels that
// run in its place on a GPU.
#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/extend/cuda.h>

#include "base/host_function.h"
#include "graph/op.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

// A function that assigned a new tensor to `y` instead of writing into it has written nothing that
// the step will read.
void expect_same_memory(const std::string& name, const void* given, const Tensor& filled) {
  if (filled.raw() != given)
    throw Error(
        fmt::format("HostLayer \"{}\": its function replaced the tensor that it was given to "
                    "fill; write through data_mut() instead",
                    name));
}

struct DeviceKernels {
  CudaForward forward;
  CudaBackward backward;
};

CudaArray array(const DeviceArray& on_device) { return {on_device.data, on_device.spec}; }

class HostCallLayer : public SingleInputLayer {
 public:
  HostCallLayer(HostForward forward, HostBackward backward, const HostLayerOptions& options,
                DeviceKernels kernels = {})
      : SingleInputLayer(options),
        forward_(std::move(forward)),
        backward_(std::move(backward)),
        kernels_(std::move(kernels)),
        output_shape_(options.output_shape) {
    if (!forward_) fail_option("expected a forward function, got an empty one");
  }

  std::string kind() const override { return kernels_.forward ? "CudaLayer" : "HostLayer"; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    Value y = apply1("host_call", {x}, {{"function", host_function()}});
    return backward_ ? y : ops::stop_gradient(y);
  }

 private:
  // Copies of the user's functions: the graph may outlive the layer.
  std::shared_ptr<const HostFunction> host_function() const {
    auto function = std::make_shared<HostFunction>();
    function->name = label();
    function->infer = [shape = output_shape_](std::span<const TensorSpec> inputs) {
      TensorSpec output = inputs[0];
      if (shape) output.shape = shape(output.shape);
      return std::vector<TensorSpec>{output};
    };
    function->run = [run = forward_, name = label()](std::span<const Tensor> inputs,
                                                     std::span<Tensor> outputs) {
      const void* given = outputs[0].raw();
      run(inputs[0], outputs[0]);
      expect_same_memory(name, given, outputs[0]);
    };
    if (kernels_.forward)
      function->launch = [launch = kernels_.forward](void* stream, auto inputs, auto outputs) {
        launch(array(inputs[0]), array(outputs[0]), static_cast<CUstream_st*>(stream));
      };
    if (backward_) function->gradient = gradient_function();
    return function;
  }

  // x, y, dy → dx
  std::shared_ptr<const HostFunction> gradient_function() const {
    auto function = std::make_shared<HostFunction>();
    function->name = label() + "_gradient";
    function->infer = [](std::span<const TensorSpec> inputs) {
      return std::vector<TensorSpec>{inputs[0]};
    };
    function->run = [run = backward_, name = label()](std::span<const Tensor> inputs,
                                                      std::span<Tensor> outputs) {
      const void* given = outputs[0].raw();
      run(inputs[0], inputs[1], inputs[2], outputs[0]);
      expect_same_memory(name, given, outputs[0]);
    };
    if (kernels_.backward)
      function->launch = [launch = kernels_.backward](void* stream, auto inputs, auto outputs) {
        launch(array(inputs[0]), array(inputs[1]), array(inputs[2]), array(outputs[0]),
               static_cast<CUstream_st*>(stream));
      };
    return function;
  }

  HostForward forward_;
  HostBackward backward_;
  DeviceKernels kernels_;
  std::function<Shape(const Shape&)> output_shape_;
};

[[noreturn]] Layer fail_loading(const char* kind, const Attrs& attrs) {
  auto name = attrs.get_or("name", std::string());
  throw ValueError(fmt::format("{} \"{}\" is C++ code, which is not in the file; pass it: {}", kind,
                               name, how_to_pass_layer(name)));
}

[[noreturn]] void fail_without_gpu(const std::string& name, const char* option) {
  throw Error(
      fmt::format("CudaLayer \"{}\" has kernels for a GPU only, and this runs on the CPU; give it "
                  "{}, or train on a GPU",
                  name, option));
}

std::shared_ptr<LayerBase> make_cuda_layer(CudaForward forward, CudaBackward backward,
                                           const CudaLayerOptions& options) {
  std::string name = options.name;
  if (!forward)
    throw ValueError(
        fmt::format("CudaLayer \"{}\": expected a forward function, got an empty one", name));
  HostForward host_forward = options.host_forward;
  HostBackward host_backward = backward ? options.host_backward : HostBackward();
  if (!host_forward)
    host_forward = [name](const Tensor&, Tensor&) { fail_without_gpu(name, "host_forward"); };
  if (backward && !host_backward)
    host_backward = [name](const Tensor&, const Tensor&, const Tensor&, Tensor&) {
      fail_without_gpu(name, "host_backward");
    };
  return std::make_shared<HostCallLayer>(
      std::move(host_forward), std::move(host_backward),
      HostLayerOptions{.output_shape = options.output_shape, .name = options.name},
      DeviceKernels{std::move(forward), std::move(backward)});
}

}  // namespace

void CudaArray::expect(DType dtype) const {
  if (spec.dtype != dtype)
    throw Error(
        fmt::format("an own CUDA kernel asks for {}, but the array is {}; {{.dtype = \"float32\"}} "
                    "makes the layer "
                    "take float32 under any policy",
                    stoker::name(dtype), to_string(spec)));
}

CudaLayer::CudaLayer(CudaForward forward, CudaBackward backward, const CudaLayerOptions& options)
    : Layer(make_cuda_layer(std::move(forward), std::move(backward), options), options.dtype) {}

HostLayer::HostLayer(HostForward forward, HostBackward backward, const HostLayerOptions& options)
    : Layer(std::make_shared<HostCallLayer>(std::move(forward), std::move(backward), options),
            options.dtype) {}

void add_host_layers(LayerKinds& kinds) {
  for (const char* kind : {"HostLayer", "CudaLayer"})
    kinds[kind] = {.make = [=](const Attrs& attrs) { return fail_loading(kind, attrs); },
                   .is = is_exactly<HostCallLayer>};
}

}  // namespace stoker
