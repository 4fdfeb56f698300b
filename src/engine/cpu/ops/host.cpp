#include "base/host_function.h"

#include "engine/cpu/ops/op_builders.h"

namespace stoker::cpu {

namespace {

// A tensor on memory that the program owns.
Tensor wrap(void* data, const TensorSpec& spec) {
  return Tensor::wrap(std::shared_ptr<void>(data, [](void*) {}), data, spec.dtype, spec.shape);
}

// A user's function on row-major tensors, which are the program's own memory: they hold what they
// hold until the function returns, and a function that keeps one keeps a view of something else.
void build_host_call(Builder& b, const Node& node) {
  auto function = node.attrs.get<std::shared_ptr<const HostFunction>>("function");
  Call call{"host:" + function->name, {}, {}};
  std::vector<TensorSpec> in, out;
  for (int value : node.inputs) {
    call.reads.push_back(b.plain(value));
    in.push_back(b.spec(value));
  }
  for (int value : node.outputs) {
    call.writes.push_back(b.define(value));
    out.push_back(b.spec(value));
  }
  b.emit(std::move(call), [function, in = std::move(in), out = std::move(out)](Pointers p) {
    std::vector<Tensor> inputs, outputs;
    for (size_t i = 0; i < in.size(); ++i) inputs.push_back(wrap(p.out<void>(int(i)), in[i]));
    for (size_t i = 0; i < out.size(); ++i)
      outputs.push_back(wrap(p.out<void>(int(in.size() + i)), out[i]));
    function->run(inputs, outputs);
  });
}

}  // namespace

void add_host_builders(OpBuilders& table) { table["host_call"] = {anything, build_host_call}; }

}  // namespace stoker::cpu
