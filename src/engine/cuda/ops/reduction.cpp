#include <algorithm>
#include <array>

#include "engine/cuda/kernels/column_sums.h"
#include "engine/cuda/kernels/reduce.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

ReduceFn reduce_fn(const std::string& name) {
  constexpr std::array kNames = {"sum", "mean", "max", "min", "prod"};
  return ReduceFn(std::ranges::find(kNames, name) - kNames.begin());
}

// Neighbouring axes of one kind become one.
ReduceShape reduce_shape(const Shape& x, const Ints& axes) {
  ReduceShape shape;
  int64_t stride = 1;
  bool last_gone = false;
  int merged = 0;
  struct Axis {
    int64_t extent, stride;
    bool gone;
  };
  std::vector<Axis> found;  // innermost first
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    bool gone = std::ranges::find(axes, int64_t(axis)) != axes.end();
    (gone ? shape.inputs : shape.outputs) *= x[axis];
    if (x[axis] != 1) {
      if (merged > 0 && gone == last_gone)
        found.back().extent *= x[axis];
      else
        found.push_back({x[axis], stride, gone});
      merged = 1;
      last_gone = gone;
    }
    stride *= x[axis];
  }
  shape.rows = !found.empty() && found[0].gone;
  std::ranges::reverse(found);
  for (const Axis& axis : found) {
    int& rank = axis.gone ? shape.gone_rank : shape.kept_rank;
    (axis.gone ? shape.gone : shape.kept)[rank] = axis.extent;
    (axis.gone ? shape.gone_strides : shape.kept_strides)[rank] = axis.stride;
    ++rank;
  }
  return shape;
}

// Sums over all but the innermost axis: sixteen bytes at a time.
void emit_column_sum(Builder& b, int x, int value, int64_t rows, int64_t channels) {
  ColumnCall call;
  call.what = ColumnSums::sum;
  call.dtype = b.spec(value).dtype;
  call.rows = rows;
  call.channels = channels;
  call.plan = plan_columns(call.dtype, rows, channels);
  int partials = b.scratch(call.plan.partial_bytes), counters = b.zeroed(call.plan.counter_bytes);
  int y = b.define(value);
  b.emit({"own:columns", {x}, {y, partials, counters}}, [call](const Launch& at) {
    ColumnCall bound = call;
    bound.x = at.get(0);
    bound.out = at.get(1);
    bound.partials = at.get(2);
    bound.counters = at.get<unsigned>(3);
    run_column_sums(bound, at.stream);
  });
}

void build_reduce(Builder& b, const Node& node) {
  const TensorSpec& x = b.spec(node.inputs[0]);
  const auto& axes = node.attrs.get<Ints>("axes");
  ReduceCall call;
  call.fn = reduce_fn(node.attrs.get<std::string>("fn"));
  call.dtype = x.dtype;
  call.out_dtype = b.spec(node.outputs[0]).dtype;
  call.shape = reduce_shape(x.shape, axes);
  bool columns = call.shape.kept_rank == 1 && call.shape.gone_rank == 1 && !call.shape.rows;
  if (columns && call.fn == ReduceFn::sum && is_floating(x.dtype) && call.shape.inputs > 0)
    return emit_column_sum(b, b.input(node.inputs[0]), node.outputs[0], call.shape.inputs,
                           call.shape.outputs);
  call.splits = reduce_splits(call.shape);
  int from = b.input(node.inputs[0]);
  int partials = b.scratch(size_t(call.splits) * size_t(call.shape.outputs) * sizeof(int64_t));
  int y = b.define(node.outputs[0]);
  b.emit({"own:reduce", {from}, {y, partials}}, [call](const Launch& at) {
    ReduceCall bound = call;
    bound.x = at.get(0);
    bound.y = at.get(1);
    bound.partials = at.get(2);
    run_reduce(bound, at.stream);
  });
}

void build_argmax(Builder& b, const Node& node) {
  const TensorSpec& x = b.spec(node.inputs[0]);
  auto axis = int(node.attrs.get<int64_t>("axis"));
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < x.shape.rank(); ++i)
    if (i != axis) (i < axis ? outer : inner) *= x.shape[i];
  int from = b.input(node.inputs[0]), y = b.define(node.outputs[0]);
  b.emit({"own:argmax", {from}, {y}},
         [=, dtype = x.dtype, extent = x.shape[axis]](const Launch& at) {
           run_argmax(dtype, at.get(0), outer, extent, inner, at.get<int64_t>(1), at.stream);
         });
}

}  // namespace

void add_reduction_builders(OpBuilders& table) {
  table["reduce"] = {build_reduce};
  table["argmax"] = {build_argmax};
}

}  // namespace stoker::cuda
