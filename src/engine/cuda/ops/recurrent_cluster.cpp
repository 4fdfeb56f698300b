// recurrent and recurrent_grad in one kernel for all steps: the product of all inputs in front of it,
// those of the weights' gradients behind it, all over [B, T, …] as the graph has them.
#include "engine/cuda/kernels/recurrent_cluster.h"

#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/products.h"
#include "engine/cuda/ops/recurrent.h"

namespace stoker::cuda {

namespace {

size_t cluster_bytes(int64_t count, DType dtype) { return size_t(count) * size_of(dtype); }

std::optional<RecurrentCluster> cluster_call(Builder& b, const RecurrentShape& s, DType dtype) {
  bool has_cell = s.cell == Cell::lstm || s.cell == Cell::gru;
  if (!has_cell || dtype == DType::float32 || s.steps() == 0 || s.features == 0) return {};
  RecurrentCluster call;
  call.dtype = dtype;
  call.cell = s.cell == Cell::lstm ? RecurrentCluster::kLstm : RecurrentCluster::kGru;
  call.batch = int(s.batch);
  call.length = int(s.length);
  call.units = int(s.units);
  call.reverse = s.reverse;
  call.zero_masked = s.zero_masked;
  Device::Turn turn(*b.shared().device);
  if (!plan_recurrent_cluster(call)) return {};
  return call;
}

// What a forward pass leaves for its gradient: buffers one behind the other.
struct ClusterKept {
  int gates, inner, before;
  explicit ClusterKept(int first) : gates(first), inner(first + 1), before(first + 2) {}
  ClusterKept(Builder& b, const RecurrentShape& s, DType dtype)
      : ClusterKept(b.kept(cluster_bytes(s.steps() * s.columns(), dtype))) {
    b.kept(cluster_bytes(s.steps() * s.units, DType::float32));
    b.kept(cluster_bytes(s.steps() * s.units, dtype));
  }
};

// A gru's second bias, which is added to h · R.
const void* inner_bias(const RecurrentCluster& call, const void* bias) {
  return static_cast<const char*>(bias) + 3 * size_t(call.units) * size_of(call.dtype);
}

// Operands of a call that may be left out, and where they are found at the launch.
class Optional {
 public:
  Optional(std::vector<int>& to, size_t before, int buffer) : place_(before + to.size()) {
    has_ = buffer >= 0;
    if (has_) to.push_back(buffer);
  }
  template <class T = void>
  T* get(const Launch& at) const {
    return has_ ? at.get<T>(place_) : nullptr;
  }

 private:
  size_t place_;
  bool has_;
};

// in: the node's operands; out: y, h [, c], -1 where nothing reads it. Keeps: for the gradient.
void emit_cluster(Builder& b, const RecurrentShape& s, const RecurrentCluster& planned,
                  const std::vector<int>& in, const std::vector<int>& out,
                  const std::optional<ClusterKept>& kept) {
  DType dtype = planned.dtype;
  bool lstm = s.cell == Cell::lstm;
  int gates = kept ? kept->gates : b.scratch(cluster_bytes(s.steps() * s.columns(), dtype));
  emit_recurrent_product(b, product_key(b, dtype, s.steps(), s.columns(), s.features), in[0], in[1],
                         gates, in[3]);
  int y = out[0] >= 0 ? out[0] : b.scratch(cluster_bytes(s.steps() * s.units, dtype));
  Call call{"own:recurrent", {in[2], in[3], in[4]}, {}};
  Optional c(call.reads, 0, lstm ? in[5] : -1), mask(call.reads, 0, s.masked ? in[s.mask()] : -1);
  size_t reads = call.reads.size();
  call.writes = {gates, y};
  Optional inner(call.writes, reads, kept ? kept->inner : -1),
      before(call.writes, reads, kept ? kept->before : -1), last_h(call.writes, reads, out[1]),
      last_c(call.writes, reads, lstm ? out[2] : -1);
  b.emit(std::move(call), [=](const Launch& at) {
    RecurrentCluster run = planned;
    run.recurrent = at.get(0);
    run.bias = inner_bias(run, at.get(1));
    run.h = at.get(2);
    run.c = c.get(at);
    run.mask = mask.get<const bool>(at);
    run.gates = at.get(reads);
    run.y = at.get(reads + 1);
    run.inner = inner.get<float>(at);
    run.before = before.get(at);
    run.last_h = last_h.get(at);
    run.last_c = last_c.get(at);
    run_recurrent_cluster(run, at.stream);
  });
}

struct ClusterGradients {
  int dgates, drecurrent, dbias, dh, dc;
};

void emit_cluster_back(Builder& b, const RecurrentShape& s, const RecurrentCluster& planned,
                       const std::vector<int>& in, const ClusterKept& kept,
                       const ClusterGradients& to) {
  bool lstm = s.cell == Cell::lstm;
  int64_t parts = int64_t(planned.bias_parts()) * 4 * s.units;
  Call call{"own:recurrent",
            {kept.gates, kept.inner, kept.before, in[2], in[s.dy()], in[s.dstate(0)]},
            {}};
  Optional c(call.reads, 0, lstm ? in[5] : -1), dlast_c(call.reads, 0, lstm ? in[s.dstate(1)] : -1),
      mask(call.reads, 0, s.masked ? in[s.mask()] : -1);
  size_t reads = call.reads.size();
  call.writes = {to.dgates, to.dh, b.scratch(cluster_bytes(parts, DType::float32)), to.dbias};
  Optional drecurrent(call.writes, reads, lstm ? -1 : to.drecurrent),
      dc(call.writes, reads, lstm ? to.dc : -1);
  b.emit(std::move(call), [=](const Launch& at) {
    RecurrentCluster run = planned;
    run.gates = at.get(0);
    run.inner = at.get<float>(1);
    run.before = at.get(2);
    run.recurrent = at.get(3);
    run.dy = at.get(4);
    run.dlast_h = at.get(5);
    run.c = c.get(at);
    run.dlast_c = dlast_c.get(at);
    run.mask = mask.get<const bool>(at);
    run.dgates = at.get(reads);
    run.dh = at.get(reads + 1);
    run.dbias_parts = at.get<float>(reads + 2);
    run.dbias = at.get(reads + 3);
    run.drecurrent = drecurrent.get(at);
    run.dc = dc.get(at);
    run_recurrent_cluster_back(run, at.stream);
  });
}

std::vector<int> inputs_of(Builder& b, const Node& node) {
  std::vector<int> in;
  for (int value : node.inputs) in.push_back(b.input(value));
  return in;
}

}  // namespace

bool build_recurrent_cluster(Builder& b, const Node& node) {
  RecurrentShape s(node.attrs, recurrent_specs(b, node));
  auto call = cluster_call(b, s, b.spec(node.inputs[0]).dtype);
  if (!call) return false;
  std::vector<int> in = inputs_of(b, node), out;
  for (int value : node.outputs) out.push_back(b.is_read(value) ? b.define(value) : -1);
  std::optional<ClusterKept> kept;
  if (has_recurrent_gradient(b.graph(), node, s)) kept.emplace(b, s, call->dtype);
  emit_cluster(b, s, *call, in, out, kept);
  if (kept) b.attachments()[node.outputs[0]] = kept->gates;
  return true;
}

bool build_recurrent_cluster_grad(Builder& b, const Node& node) {
  RecurrentShape s(node.attrs, recurrent_specs(b, node));
  DType dtype = b.spec(node.inputs[0]).dtype;
  auto call = cluster_call(b, s, dtype);
  if (!call) return false;
  std::vector<int> in = inputs_of(b, node);
  std::optional<ClusterKept> kept;
  if (int first = find_recurrent_kept(b, node, s); first >= 0) {
    kept.emplace(first);
  } else {
    kept.emplace(b, s, dtype);
    emit_cluster(b, s, *call, in, std::vector<int>(1 + s.states(), -1), kept);
  }
  auto result = [&](size_t index) {
    int value = node.outputs[index];
    return b.is_read(value) ? b.define(value) : b.scratch(bytes_of(b.spec(value)));
  };
  bool lstm = s.cell == Cell::lstm;
  int64_t rows = s.steps(), columns = s.columns();
  int dgates = b.scratch(cluster_bytes(rows * columns, dtype));
  int drecurrent = lstm ? dgates : b.scratch(cluster_bytes(rows * columns, dtype));
  emit_cluster_back(b, s, *call, in, *kept,
                    {dgates, drecurrent, result(3), result(4), lstm ? result(5) : -1});
  MatmulKey turned{.transpose_a = true};
  if (b.is_read(node.outputs[0]))
    emit_recurrent_product(b,
                           product_key(b, dtype, rows, s.features, columns, {.transpose_b = true}),
                           dgates, in[1], result(0));
  if (b.is_read(node.outputs[1]))
    emit_recurrent_product(b, product_key(b, dtype, s.features, columns, rows, turned), in[0],
                           dgates, result(1));
  if (b.is_read(node.outputs[2]))
    emit_recurrent_product(b, product_key(b, dtype, s.units, columns, rows, turned), kept->before,
                           drecurrent, result(2));
  return true;
}

}  // namespace stoker::cuda
