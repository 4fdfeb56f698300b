// recurrent and recurrent_grad: 16-bit LSTMs and GRUs in recurrent_cluster.cpp; on cuDNN what is left
// and where every step counts; with a mask, in recurrent_loop.cpp.
// cuDNN takes sequences as [T, B, n] and weights in an order of its own: both are copies of their
// own, weights one per step of training.
#include "engine/cuda/ops/recurrent.h"

#include "engine/cuda/cudnn_recurrent.h"
#include "engine/cuda/kernels/shape.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

std::vector<TensorSpec> recurrent_specs(const Builder& b, const Node& node) {
  std::vector<TensorSpec> specs;
  for (int value : node.inputs) specs.push_back(b.spec(value));
  return specs;
}

void emit_recurrent_steps(Builder& b, const RecurrentShape& s, DType dtype, Steps way, int from,
                          int to, int64_t n) {
  if (s.steps() * n == 0) return;
  StridedCopy copy;
  copy.element = int(size_of(dtype));
  copy.rank = 3;
  copy.elements = s.steps() * n;
  int64_t dims[3] = {s.length, s.batch, n};
  int64_t rows[3] = {s.reverse ? -n : n, s.length * n, 1}, steps[3] = {s.batch * n, n, 1};
  int64_t first = s.reverse ? (s.length - 1) * n : 0;
  bool in = way == Steps::to_steps;
  for (int axis = 0; axis < 3; ++axis) {
    copy.dims[axis] = dims[axis];
    copy.from_strides[axis] = in ? rows[axis] : steps[axis];
    copy.to_strides[axis] = in ? steps[axis] : rows[axis];
  }
  (in ? copy.from_offset : copy.to_offset) = first;
  b.emit({"own:copy", {from}, {to}, "transpose"}, [copy](const Launch& at) {
    StridedCopy bound = copy;
    bound.from = at.get(0);
    bound.to = at.get(1);
    run_strided_copy(bound, at.stream);
  });
}

bool has_recurrent_gradient(const Graph& graph, const Node& node, const RecurrentShape& s) {
  for (const Node& each : graph.nodes())
    if (each.is("recurrent_grad") && each.inputs[s.y()] == node.outputs[0]) return true;
  return false;
}

void emit_recurrent_product(Builder& b, MatmulKey key, int x, int w, int y, int bias) {
  key.bias = bias >= 0;
  size_t bytes = size_t(key.rows * key.columns) * size_of(key.wide ? DType::float32 : key.dtype);
  if (bytes == 0) return;
  if (key.inner == 0 && !key.bias) {  // sequences without steps: cuBLASLt has no empty sums
    b.emit({"own:zero", {}, {y}, "recurrent product"}, [bytes](const Launch& at) {
      check(cudaMemsetAsync(at.get(0), 0, bytes, at.stream), "zeroing");
    });
    return;
  }
  auto plan = b.shared().matmul_plans.find(key, b.shared().pool);
  Call call{"cublaslt", {x, w}, {y, b.scratch(plan->workspace())}, "recurrent product"};
  if (key.bias) call.reads.push_back(bias);
  b.emit(std::move(call), [plan, biased = size_t(key.bias)](const Launch& at) {
    plan->run(at.device, at.stream,
              {.a = at.get(0),
               .b = at.get(1),
               .bias = biased > 0 ? at.get(2) : nullptr,
               .y = at.get(2 + biased),
               .workspace = at.get(3 + biased)});
  });
}

int find_recurrent_kept(Builder& b, const Node& grad, const RecurrentShape& s) {
  int y = grad.inputs[s.y()];
  auto found = b.attachments().find(y);
  const Node* forward = b.graph().producer(y);
  bool is_same = found != b.attachments().end() && forward->attrs == grad.attrs &&
                 std::equal(forward->inputs.begin(), forward->inputs.end(), grad.inputs.begin());
  return is_same ? found->second : -1;
}

namespace {

size_t recurrent_bytes(int64_t count, DType dtype) {
  return std::max<size_t>(size_t(count) * size_of(dtype), 1);
}

// What a forward pass leaves for its gradient: buffers one behind the other.
struct CudnnKept {
  int x, y, weights, reserve;
  explicit CudnnKept(int first) : x(first), y(first + 1), weights(first + 2), reserve(first + 3) {}
  CudnnKept(Builder& b, const RecurrentShape& s, DType dtype, const CudnnRecurrent::Sizes& sizes)
      : CudnnKept(b.kept(recurrent_bytes(s.steps() * s.features, dtype))) {
    b.kept(recurrent_bytes(s.steps() * s.units, dtype));
    b.kept(std::max<size_t>(sizes.weights, 1));
    b.kept(std::max<size_t>(sizes.reserve, 1));
  }
};

using Layer = std::shared_ptr<const CudnnRecurrent>;

void emit_weights(Builder& b, const Layer& layer, const std::vector<int>& in, int weights) {
  b.emit({"own:recurrent_weights", {in[1], in[2], in[3]}, {weights}, "recurrent weights"},
         [layer](const Launch& at) {
           RecurrentWeights call;
           layer->find_weights(at.device, at.get(3), call);
           call.kernel = at.get(0);
           call.recurrent = at.get(1);
           call.bias = at.get(2);
           run_recurrent_weights(call, at.stream);
         });
}

// in: the node's operands; out: y, h [, c], -1 where nothing reads it.
CudnnKept emit_cudnn_forward(Builder& b, const RecurrentShape& s, DType dtype, const Layer& layer,
                             const std::vector<int>& in, const std::vector<int>& out) {
  CudnnKept kept(b, s, dtype, layer->sizes());
  emit_recurrent_steps(b, s, dtype, Steps::to_steps, in[0], kept.x, s.features);
  emit_weights(b, layer, in, kept.weights);
  bool lstm = s.cell == Cell::lstm;
  Call call{CudnnRecurrent::kName,
            {kept.x, kept.weights, in[4], in[lstm ? 5 : 4]},
            {kept.y, kept.reserve, b.scratch(std::max<size_t>(layer->sizes().work, 1))}};
  bool has_h = out[1] >= 0, has_c = lstm && out[2] >= 0;
  if (has_h) call.writes.push_back(out[1]);
  if (has_c) call.writes.push_back(out[2]);
  b.emit(std::move(call), [=](const Launch& at) {
    CudnnRecurrent::Forward f{.x = at.get(0),
                              .h = at.get(2),
                              .c = lstm ? at.get(3) : nullptr,
                              .weights = at.get(1),
                              .y = at.get(4),
                              .last_h = has_h ? at.get(7) : nullptr,
                              .last_c = has_c ? at.get(7 + size_t(has_h)) : nullptr,
                              .work = at.get(6),
                              .reserve = at.get(5)};
    layer->forward(at.device, f);
  });
  if (out[0] >= 0) emit_recurrent_steps(b, s, dtype, Steps::from_steps, kept.y, out[0], s.units);
  return kept;
}

Layer layer_for(Builder& b, const RecurrentShape& s, DType dtype, bool training) {
  if (s.masked || s.steps() == 0) return nullptr;
  return CudnnRecurrent::make(s, dtype, training, b.options().tf32, *b.shared().device);
}

void build_recurrent(Builder& b, const Node& node) {
  if (build_recurrent_cluster(b, node)) return;
  RecurrentShape s(node.attrs, recurrent_specs(b, node));
  DType dtype = b.spec(node.inputs[0]).dtype;
  Layer layer = layer_for(b, s, dtype, has_recurrent_gradient(b.graph(), node, s));
  if (layer == nullptr) return build_recurrent_loop(b, node);
  std::vector<int> in, out;
  for (int value : node.inputs) in.push_back(b.input(value));
  for (int value : node.outputs) out.push_back(b.is_read(value) ? b.define(value) : -1);
  b.attachments()[node.outputs[0]] = emit_cudnn_forward(b, s, dtype, layer, in, out).x;
}

// cuDNN changes the reserve on the way back: one gradient takes it, another one computes it anew.
CudnnKept take_kept(Builder& b, const RecurrentShape& s, DType dtype, const Layer& layer,
                    const Node& node, const std::vector<int>& in) {
  if (int first = find_recurrent_kept(b, node, s); first >= 0) {
    b.attachments().erase(node.inputs[s.y()]);
    return CudnnKept(first);
  }
  return emit_cudnn_forward(b, s, dtype, layer, in, std::vector<int>(1 + s.states(), -1));
}

void build_recurrent_grad(Builder& b, const Node& node) {
  if (build_recurrent_cluster_grad(b, node)) return;
  RecurrentShape s(node.attrs, recurrent_specs(b, node));
  DType dtype = b.spec(node.inputs[0]).dtype;
  Layer layer = layer_for(b, s, dtype, true);
  if (layer == nullptr) return build_recurrent_loop_grad(b, node);
  std::vector<int> in;
  for (int value : node.inputs) in.push_back(b.input(value));
  CudnnKept kept = take_kept(b, s, dtype, layer, node, in);
  auto result = [&](size_t index) {
    int value = node.outputs[index];
    return b.is_read(value) ? b.define(value)
                            : b.scratch(std::max<size_t>(bytes_of(b.spec(value)), 1));
  };
  bool lstm = s.cell == Cell::lstm;
  int dy = b.scratch(recurrent_bytes(s.steps() * s.units, dtype));
  int dx = b.scratch(recurrent_bytes(s.steps() * s.features, dtype));
  int dweights = b.scratch(std::max<size_t>(layer->sizes().weights, 1));
  emit_recurrent_steps(b, s, dtype, Steps::to_steps, in[s.dy()], dy, s.units);
  int dh = result(4), dc = lstm ? result(5) : -1;
  Call call{CudnnRecurrent::kName,
            {kept.x, in[4], in[lstm ? 5 : 4], kept.weights, kept.y, dy, in[s.dstate(0)],
             in[s.dstate(lstm ? 1 : 0)]},
            {dx, dh, dweights, b.scratch(std::max<size_t>(layer->sizes().work, 1)), kept.reserve}};
  if (lstm) call.writes.push_back(dc);
  b.emit(std::move(call), [=](const Launch& at) {
    CudnnRecurrent::Backward f{.x = at.get(0),
                               .h = at.get(1),
                               .c = lstm ? at.get(2) : nullptr,
                               .weights = at.get(3),
                               .y = at.get(4),
                               .dy = at.get(5),
                               .dlast_h = at.get(6),
                               .dlast_c = lstm ? at.get(7) : nullptr,
                               .dx = at.get(8),
                               .dh = at.get(9),
                               .dc = lstm ? at.get(13) : nullptr,
                               .dweights = at.get(10),
                               .work = at.get(11),
                               .reserve = at.get(12)};
    layer->backward(at.device, f, at.stream);
  });
  if (b.is_read(node.outputs[0]))
    emit_recurrent_steps(b, s, dtype, Steps::from_steps, dx, result(0), s.features);
  b.emit(
      {"own:recurrent_weights", {dweights}, {result(1), result(2), result(3)}, "recurrent weights"},
      [layer](const Launch& at) {
        RecurrentWeights unpacked;
        layer->find_weights(at.device, at.get(0), unpacked);
        unpacked.way = RecurrentWeights::Way::from_cudnn;
        unpacked.kernel = at.get(1);
        unpacked.recurrent = at.get(2);
        unpacked.bias = at.get(3);
        run_recurrent_weights(unpacked, at.stream);
      });
}

}  // namespace

void add_recurrent_builders(OpBuilders& table) {
  table["recurrent"] = {build_recurrent};
  table["recurrent_grad"] = {build_recurrent_grad};
}

}  // namespace stoker::cuda
