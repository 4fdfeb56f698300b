#include "engine/cuda/kernels/order.h"
#include "engine/cuda/kernels/random.h"
#include "engine/cuda/ops/op_builders.h"
#include "graph/ops/random.h"

namespace stoker::cuda {

namespace {

void build_argsort(Builder& b, const Node& node) {
  const TensorSpec& x = b.spec(node.inputs[0]);
  ArgsortCall call;
  call.dtype = x.dtype;
  call.columns = x.shape[-1];
  call.rows = x.shape.elements() / call.columns;
  call.k = node.attrs.get<int64_t>("k");
  call.descending = node.attrs.get<bool>("descending");
  call.scratch_bytes = argsort_scratch(x.shape.elements());
  int from = b.input(node.inputs[0]), scratch = b.scratch(call.scratch_bytes),
      y = b.define(node.outputs[0]);
  b.emit({"own:argsort", {from}, {y, scratch}}, [call](const Launch& at) {
    ArgsortCall bound = call;
    bound.x = at.get(0);
    bound.order = at.get<int32_t>(1);
    bound.scratch = at.get(2);
    run_argsort(bound, at.stream);
  });
}

void build_cumulate(Builder& b, const Node& node) {
  const TensorSpec& x = b.spec(node.inputs[0]);
  CumulateCall call;
  call.dtype = x.dtype;
  call.columns = x.shape[-1];
  call.rows = call.columns == 0 ? 0 : x.shape.elements() / call.columns;
  call.reverse = node.attrs.get_or("reverse", false);
  std::vector<int> reads;
  for (int value : node.inputs) reads.push_back(b.input(value));
  int y = b.define(node.outputs[0]);
  bool scaled = reads.size() == 2;
  b.emit({"own:cumulate", reads, {y}}, [call, scaled](const Launch& at) {
    CumulateCall bound = call;
    bound.x = at.get(0);
    bound.factor = scaled ? at.get(1) : nullptr;
    bound.y = at.get(scaled ? 2 : 1);
    run_cumulate(bound, at.stream);
  });
}

void build_segment_reduce(Builder& b, const Node& node) {
  const TensorSpec &data = b.spec(node.inputs[0]), &ids = b.spec(node.inputs[1]);
  const Shape& y = b.shape(node.outputs[0]);
  const auto& fn = node.attrs.get<std::string>("fn");
  SegmentCall call;
  call.fn = fn == "max" ? SegmentFn::max : fn == "min" ? SegmentFn::min : SegmentFn::sum;
  call.dtype = data.dtype;
  call.id_dtype = ids.dtype;
  call.rows = y[0];
  call.width = y.elements() / y[0];
  call.count = ids.shape.elements();
  int from = b.input(node.inputs[0]), which = b.input(node.inputs[1]),
      keys = b.scratch(size_t(y.elements()) * 8), to = b.define(node.outputs[0]);
  b.emit({"own:segments", {from, which}, {to, keys}}, [call](const Launch& at) {
    SegmentCall bound = call;
    bound.data = at.get(0);
    bound.ids = at.get(1);
    bound.y = at.get(2);
    bound.keys = at.get(3);
    run_segment_reduce(bound, at.stream);
  });
}

void build_random(Builder& b, const Node& node) {
  RandomCall call;
  call.draw = random_draw(node.attrs);
  call.stream_number = node.attrs.get<int64_t>("stream");
  call.elements = b.shape(node.outputs[0]).elements();
  std::vector<int> reads;
  for (int value : node.inputs) reads.push_back(b.input(value));
  size_t given = reads.size();
  int y = b.define(node.outputs[0]);
  b.emit({"own:random", reads, {y}}, [call, given](const Launch& at) {
    RandomCall bound = call;
    bound.state = at.get<const int64_t>(0);
    if (given > 1) bound.parameter = at.get<const float>(1);
    if (given > 2) bound.second = at.get<const float>(2);
    bound.y = at.get(given);
    run_random(bound, at.stream);
  });
}

}  // namespace

void add_order_builders(OpBuilders& table) {
  table["random"] = {build_random};
  table["argsort"] = {build_argsort};
  table["cumulate"] = {build_cumulate};
  table["segment_reduce"] = {build_segment_reduce};
}

}  // namespace stoker::cuda
