// A user's own function: its inputs come to the host, its outputs go back. The captured graph ends
// before it and goes on after it. One that has kernels of its own is captured like any other op.
#include "base/host_function.h"

#include "engine/cuda/ops/op_builders.h"
#include "engine/matrix_ops.h"

namespace stoker::cuda {

namespace {

struct Operands {
  std::vector<int> reads, writes;
  std::vector<TensorSpec> inputs, outputs;
};

Operands operands_of(Builder& b, const Node& node) {
  Operands all;
  for (int value : node.inputs) {
    all.reads.push_back(b.input(value));
    all.inputs.push_back(b.spec(value));
  }
  for (int value : node.outputs) {
    all.writes.push_back(b.define(value));
    all.outputs.push_back(b.spec(value));
  }
  return all;
}

void build_host_call(Builder& b, const Node& node) {
  auto function = node.attrs.get<std::shared_ptr<const HostFunction>>("function");
  if (!function->launch) return emit_through_host(b, node, "host", function->run);
  Operands all = operands_of(b, node);
  auto [reads, writes, inputs, outputs] = all;
  b.emit({"user:" + function->name, reads, writes},
         [function, inputs = inputs, outputs = outputs](const Launch& at) {
           std::vector<DeviceArray> given, made;
           for (size_t i = 0; i < inputs.size(); ++i) given.push_back({at.get(i), inputs[i]});
           for (size_t i = 0; i < outputs.size(); ++i)
             made.push_back({at.get(inputs.size() + i), outputs[i]});
           function->launch(at.stream, given, made);
           check(cudaGetLastError(), "an own kernel");
         });
}

// In double on the host: these matrices are small, and cuSOLVER would be one library more.
void build_matrices(Builder& b, const Node& node) {
  bool solves = node.inputs.size() == 2;
  matrix::Operation op(node.attrs, b.shape(node.inputs[0]),
                       solves ? &b.shape(node.inputs[1]) : nullptr);
  auto run = [op](std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    std::vector<const float*> in;
    std::vector<void*> out;
    for (const Tensor& input : inputs) in.push_back(input.data<float>());
    for (Tensor& output : outputs) out.push_back(output.raw_mut());
    for (int64_t index = 0; index < op.batch; ++index)
      matrix::run<double, int32_t, float>(op, in, out, index);
  };
  emit_through_host(b, node, "host:" + node.op->name, run);
}

}  // namespace

void emit_through_host(Builder& b, const Node& node, std::string name, OnHost run) {
  Operands all = operands_of(b, node);
  b.emit_on_host(
      {std::move(name), all.reads, all.writes},
      [inputs = all.inputs, outputs = all.outputs, run = std::move(run)](const Launch& at) {
        std::vector<Tensor> given, made;
        for (size_t i = 0; i < inputs.size(); ++i) {
          given.emplace_back(inputs[i].dtype, inputs[i].shape);
          check(cudaMemcpyAsync(given[i].raw_mut(), at.get(i), given[i].bytes(),
                                cudaMemcpyDeviceToHost, at.stream),
                "copying to the host");
        }
        check(cudaStreamSynchronize(at.stream), "waiting for the inputs of a host function");
        for (const TensorSpec& spec : outputs) made.emplace_back(spec.dtype, spec.shape);
        run(given, made);
        for (size_t i = 0; i < made.size(); ++i)
          check(cudaMemcpyAsync(at.get(inputs.size() + i), made[i].raw(), made[i].bytes(),
                                cudaMemcpyHostToDevice, at.stream),
                "copying from the host");
        check(cudaStreamSynchronize(at.stream), "waiting for the outputs of a host function");
      });
}

void add_host_builders(OpBuilders& table) { table["host_call"] = {build_host_call}; }

void add_matrix_builders(OpBuilders& table) {
  table["factorize"] = {build_matrices};
  table["solve"] = {build_matrices};
}

}  // namespace stoker::cuda
