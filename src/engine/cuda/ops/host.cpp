// A user's own function: its inputs come to the host, its outputs go back. The captured graph ends
// before it and goes on after it. One that has kernels of its own is captured like any other op.
#include "base/host_function.h"

#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

void build_host_call(Builder& b, const Node& node) {
  auto function = node.attrs.get<std::shared_ptr<const HostFunction>>("function");
  std::vector<int> reads, writes;
  std::vector<TensorSpec> inputs, outputs;
  for (int value : node.inputs) {
    reads.push_back(b.input(value));
    inputs.push_back(b.spec(value));
  }
  for (int value : node.outputs) {
    writes.push_back(b.define(value));
    outputs.push_back(b.spec(value));
  }
  if (function->launch) {
    b.emit({"user:" + function->name, reads, writes}, [=](const Launch& at) {
      std::vector<DeviceArray> given, made;
      for (size_t i = 0; i < inputs.size(); ++i) given.push_back({at.get(i), inputs[i]});
      for (size_t i = 0; i < outputs.size(); ++i)
        made.push_back({at.get(inputs.size() + i), outputs[i]});
      function->launch(at.stream, given, made);
      check(cudaGetLastError(), "an own kernel");
    });
    return;
  }
  b.emit_on_host({"host", reads, writes}, [=](const Launch& at) {
    std::vector<Tensor> given, made;
    for (size_t i = 0; i < inputs.size(); ++i) {
      given.emplace_back(inputs[i].dtype, inputs[i].shape);
      check(cudaMemcpyAsync(given[i].raw_mut(), at.get(i), given[i].bytes(), cudaMemcpyDeviceToHost,
                            at.stream),
            "copying to a host layer");
    }
    check(cudaStreamSynchronize(at.stream), "waiting for a host layer's inputs");
    for (const TensorSpec& spec : outputs) made.emplace_back(spec.dtype, spec.shape);
    function->run(given, made);
    for (size_t i = 0; i < made.size(); ++i)
      check(cudaMemcpyAsync(at.get(inputs.size() + i), made[i].raw(), made[i].bytes(),
                            cudaMemcpyHostToDevice, at.stream),
            "copying from a host layer");
    check(cudaStreamSynchronize(at.stream), "waiting for a host layer's outputs");
  });
}

}  // namespace

void add_host_builders(OpBuilders& table) { table["host_call"] = {build_host_call}; }

}  // namespace stoker::cuda
