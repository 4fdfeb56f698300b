#include "engine/cuda/kernels/lookup.h"

#include "engine/cuda/ops/op_builders.h"
#include "graph/ops/order.h"

namespace stoker::cuda {

namespace {

// How a gather reads rows of a table.
GatherCall gather_call(const Shape& table, const TensorSpec& indices) {
  GatherCall call;
  call.index_dtype = indices.dtype;
  call.rows = table[0];
  call.width = call.rows == 0 ? 0 : table.elements() / call.rows;
  call.count = indices.shape.elements();
  return call;
}

// How a take reads a table of all blocks' rows.
GatherCall take_call(const Shape& x, const TensorSpec& indices, const Attrs& attrs) {
  TakeShape shape(x, indices.shape, int(attrs.get<int64_t>("axis")));
  GatherCall call;
  call.index_dtype = indices.dtype;
  call.rows = shape.outer * shape.extent;
  call.width = shape.inner;
  call.count = shape.outer * shape.count;
  call.group = shape.count;
  call.extent = shape.extent;
  call.shared = shape.shared;
  return call;
}

void emit_gather(Builder& b, const Node& node, const char* name, GatherCall call) {
  call.element = int(size_of(b.spec(node.inputs[0]).dtype));
  int from = b.input(node.inputs[0]), which = b.input(node.inputs[1]),
      y = b.define(node.outputs[0]);
  b.emit({name, {from, which}, {y}}, [call](const Launch& at) {
    GatherCall bound = call;
    bound.table = at.get(0);
    bound.indices = at.get(1);
    bound.out = at.get(2);
    run_gather(bound, at.stream);
  });
}

void emit_gather_grad(Builder& b, const Node& node, const char* name, GatherCall call) {
  call.dtype = b.spec(node.outputs[0]).dtype;
  call.scratch_bytes = gather_grad_scratch(call.count, call.width);
  int which = b.input(node.inputs[0]), dy = b.input(node.inputs[1]),
      scratch = b.scratch(call.scratch_bytes), dtable = b.define(node.outputs[0]);
  b.emit({name, {which, dy}, {dtable, scratch}}, [call](const Launch& at) {
    GatherCall bound = call;
    bound.indices = at.get(0);
    bound.table = at.get(1);
    bound.out = at.get(2);
    bound.scratch = at.get(3);
    run_gather_grad(bound, at.stream);
  });
}

void build_gather(Builder& b, const Node& node) {
  emit_gather(b, node, "own:gather", gather_call(b.shape(node.inputs[0]), b.spec(node.inputs[1])));
}

void build_gather_grad(Builder& b, const Node& node) {
  emit_gather_grad(b, node, "own:gather",
                   gather_call(b.shape(node.outputs[0]), b.spec(node.inputs[0])));
}

void build_take(Builder& b, const Node& node) {
  emit_gather(b, node, "own:take",
              take_call(b.shape(node.inputs[0]), b.spec(node.inputs[1]), node.attrs));
}

void build_take_grad(Builder& b, const Node& node) {
  emit_gather_grad(b, node, "own:take",
                   take_call(b.shape(node.outputs[0]), b.spec(node.inputs[0]), node.attrs));
}

void build_one_hot(Builder& b, const Node& node) {
  const TensorSpec &indices = b.spec(node.inputs[0]), &y = b.spec(node.outputs[0]);
  auto depth = node.attrs.get<int64_t>("depth");
  int from = b.input(node.inputs[0]), to = b.define(node.outputs[0]);
  b.emit({"own:one_hot", {from}, {to}}, [=](const Launch& at) {
    run_one_hot(indices.dtype, at.get(0), indices.shape.elements(), depth, y.dtype, at.get(1),
                at.stream);
  });
}

void build_in_top_k(Builder& b, const Node& node) {
  const TensorSpec &x = b.spec(node.inputs[0]), &targets = b.spec(node.inputs[1]);
  auto k = node.attrs.get<int64_t>("k");
  int from = b.input(node.inputs[0]), which = b.input(node.inputs[1]),
      y = b.define(node.outputs[0]);
  b.emit({"own:in_top_k", {from, which}, {y}}, [=](const Launch& at) {
    run_in_top_k(x.dtype, at.get(0), targets.dtype, at.get(1), x.shape[0], x.shape[1], k,
                 at.get<bool>(2), at.stream);
  });
}

void build_dropout(Builder& b, const Node& node) {
  DropoutCall call;
  const TensorSpec& x = b.spec(node.inputs[0]);
  call.dtype = x.dtype;
  call.elements = x.shape.elements();
  call.rate = node.attrs.get<double>("rate");
  call.stream_number = node.attrs.get<int64_t>("stream");
  int from = b.input(node.inputs[0]), state = b.input(node.inputs[1]);
  int y = b.define_over(node.outputs[0], {from});
  b.emit({"own:dropout", {from, state}, {y}}, [call](const Launch& at) {
    DropoutCall bound = call;
    bound.x = at.get(0);
    bound.state = at.get<const int64_t>(1);
    bound.y = at.get(2);
    run_dropout(bound, at.stream);
  });
}

}  // namespace

void add_lookup_builders(OpBuilders& table) {
  table["gather"] = {build_gather};
  table["gather_grad"] = {build_gather_grad};
  table["take"] = {build_take};
  table["take_grad"] = {build_take_grad};
  table["one_hot"] = {build_one_hot};
  table["in_top_k"] = {build_in_top_k};
  table["dropout"] = {build_dropout};
}

}  // namespace stoker::cuda
