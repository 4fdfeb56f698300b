// HostLayer: own C++ on host memory, as the op "host_call".
#include <fmt/format.h>
#include <stoker/error.h>

#include "graph/host_function.h"
#include "graph/op.h"
#include "nn/config.h"
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

class HostCallLayer : public SingleInputLayer {
 public:
  HostCallLayer(HostForward forward, HostBackward backward, const HostLayerOptions& options)
      : SingleInputLayer(options.name),
        forward_(std::move(forward)),
        backward_(std::move(backward)),
        output_shape_(options.output_shape) {
    if (!forward_) fail_option("expected a forward function, got an empty one");
  }

  std::string kind() const override { return "HostLayer"; }

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
    return function;
  }

  HostForward forward_;
  HostBackward backward_;
  std::function<Shape(const Shape&)> output_shape_;
};

Layer host_from(const Attrs& attrs) {
  throw ValueError(
      fmt::format("HostLayer \"{}\" is C++ code, which is not in the file; pass a maker of "
                  "\"HostLayer\" when loading",
                  config::text(attrs, "name")));
}

}  // namespace

HostLayer::HostLayer(HostForward forward, HostBackward backward, const HostLayerOptions& options)
    : Layer(std::make_shared<HostCallLayer>(std::move(forward), std::move(backward), options)) {}

void add_host_layers(LayerFactories& factories) { factories["HostLayer"] = host_from; }

}  // namespace stoker
