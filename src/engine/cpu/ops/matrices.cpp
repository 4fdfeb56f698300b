// Factorisations and solutions in double, a matrix per thread.
#include "engine/matrix_ops.h"

#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

void build_matrices(Builder& b, const Node& node) {
  bool solves = node.inputs.size() == 2;
  matrix::Operation op(node.attrs, b.shape(node.inputs[0]),
                       solves ? &b.shape(node.inputs[1]) : nullptr);
  Call call{node.op->name, {}, {}};
  for (int value : node.inputs) call.reads.push_back(b.plain(value));
  for (int value : node.outputs) call.writes.push_back(b.define(value));
  size_t inputs = node.inputs.size(), outputs = node.outputs.size();
  b.emit(std::move(call), [op, inputs, outputs](Pointers p) {
    std::vector<const float*> in;
    std::vector<void*> out;
    for (size_t i = 0; i < inputs; ++i) in.push_back(p.in<float>(int(i)));
    for (size_t i = 0; i < outputs; ++i) out.push_back(p.out<void>(int(inputs + i)));
    int64_t work = op.n * op.m * std::min(op.n, op.m) + 1;
    parallel_for(op.batch, kGrain / work + 1, [&](int64_t begin, int64_t end) {
      for (int64_t index = begin; index < end; ++index)
        matrix::run<double, int32_t, float>(op, in, out, index);
    });
  });
}

}  // namespace

void add_matrix_builders(OpBuilders& table) {
  table["factorize"] = {floats, build_matrices};
  table["solve"] = {floats, build_matrices};
}

}  // namespace stoker::cpu
