// cuDNN where it has a plan, own kernels for everything else.
#include "engine/cuda/ops/attention.h"

#include <algorithm>
#include <array>

#include "engine/cuda/attention_plan.h"
#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

AttentionShape attention_shape(const Graph& graph, const Node& node) {
  std::vector<TensorSpec> inputs;
  for (int input : node.inputs) inputs.push_back(graph.spec(input));
  return AttentionShape(
      node.attrs, inputs,
      node.is("attention") ? AttentionShape::Op::forward : AttentionShape::Op::gradient);
}

namespace {

HeadPlaces apart(const AttentionShape& s, int query, int key, int value) {
  return {{query, 0, s.heads * s.dim},
          {key, 0, s.kv_heads * s.dim},
          {value, 0, s.kv_heads * s.value_dim}};
}

}  // namespace

HeadPlaces own_operands(const AttentionShape& s, const Node& node) {
  return apart(s, node.inputs[s.query()], node.inputs[s.key()], node.inputs[s.value()]);
}
HeadPlaces own_gradients(const AttentionShape& s, const Node& node) {
  return apart(s, node.outputs[0], node.outputs[1], node.outputs[2]);
}

namespace {

// A call is cut into parts of the batch, and one batch into groups of heads, so that the scores that
// cuDNN's ordered gradient keeps stay within this.
constexpr int64_t kMostScores = int64_t(1) << 29;  // bytes

struct AttentionParts {
  std::shared_ptr<const AttentionPlan> plan;  // of one part; null: cuDNN has none
  int64_t batch = 1, kv_heads = 1;            // of one part
};

// The largest divisor of `count` up to `most`; 0: there is none.
int64_t divisor_up_to(int64_t count, int64_t most) {
  int64_t part = std::min(count, most);
  while (part > 0 && count % part != 0) --part;
  return part;
}

// In steps of sixteen bytes, for sixteen-bit numbers.
bool is_aligned(const HeadPlaces& places) {
  return std::ranges::all_of(
      std::array{places.query, places.key, places.value},
      [](const HeadPlace& place) { return place.offset % 8 == 0 && place.pitch % 8 == 0; });
}

// Without a plan: float32, masks, dropout with this library's random numbers, and scales for which cuDNN gives NaN.
AttentionParts find_plan(Builder& b, const AttentionShape& s, DType dtype, const HeadPlaces& from,
                         bool backward) {
  bool fits = dtype != DType::float32 && !s.masked && s.rate == 0 && s.scale > 0 &&
              s.dim == s.value_dim && s.dim % 8 == 0 && s.dim <= 128 && s.keys > 1 &&
              s.queries > 1 && s.batch > 0 && is_aligned(from);
  if (!fits) return {};
  AttentionParts parts{nullptr, s.batch, s.kv_heads};
  if (backward && s.deterministic) {
    int64_t scores = s.group() * s.queries * s.keys * 2;  // of one key head
    parts.batch = divisor_up_to(s.batch, kMostScores / (scores * s.kv_heads));
    if (parts.batch == 0) {
      parts.batch = 1;
      parts.kv_heads = divisor_up_to(s.kv_heads, kMostScores / scores);
    }
    if (parts.kv_heads == 0) return {};
  }
  AttentionKey key{.backward = backward,
                   .dtype = dtype,
                   .batch = parts.batch,
                   .heads = parts.kv_heads * s.group(),
                   .kv_heads = parts.kv_heads,
                   .queries = s.queries,
                   .keys = s.keys,
                   .dim = s.dim,
                   .q_pitch = from.query.pitch,
                   .k_pitch = from.key.pitch,
                   .v_pitch = from.value.pitch,
                   .out_pitch = s.heads * s.dim,
                   .causal = s.causal,
                   .deterministic = s.deterministic || !backward,
                   .scale = float(s.scale)};
  parts.plan = b.shared().attention_plans.find(key, b.shared().device->cudnn());
  return parts;
}

// Runs a plan for every part of a call.
void run_parts(const AttentionParts& parts, const AttentionCall& call, void* workspace,
               const Device& device) {
  auto at = [&](const void* base, int64_t rows, int64_t pitch, int64_t heads) {
    char* address = const_cast<char*>(static_cast<const char*>(base));
    int64_t moved = (rows * pitch + heads * call.dim) * int64_t(size_of(call.dtype));
    return base == nullptr ? nullptr : address + moved;
  };
  int64_t group = call.heads / call.kv_heads, out_pitch = call.heads * call.dim;
  for (int64_t batch = 0; batch < call.batch; batch += parts.batch)
    for (int64_t kv = 0; kv < call.kv_heads; kv += parts.kv_heads) {
      int64_t head = kv * group, queries = batch * call.queries, keys = batch * call.keys;
      check(parts.plan->run(device.cudnn(),
                            {.q = at(call.q, queries, call.q_pitch, head),
                             .k = at(call.k, keys, call.k_pitch, kv),
                             .v = at(call.v, keys, call.v_pitch, kv),
                             .dout = at(call.dout, queries, out_pitch, head),
                             .out = at(call.out, queries, out_pitch, head),
                             .lse = call.lse + (batch * call.heads + head) * call.queries,
                             .dq = at(call.dq, queries, call.q_pitch, head),
                             .dk = at(call.dk, keys, call.k_pitch, kv),
                             .dv = at(call.dv, keys, call.v_pitch, kv)},
                            workspace),
            "attention");
    }
}

// Whether the own ordered gradient is faster than cuDNN's: measured, docs/design/026. cuDNN's keeps scores besides, and is cut
// into parts for it.
bool own_gradient_is_faster(const AttentionCall& call, const AttentionParts& parts) {
  if (!is_fast_attention(call)) return false;
  if (call.dim <= 64) return call.dim > 32 && call.keys >= (call.causal ? 2048 : 1024);
  return call.causal && (parts.batch < call.batch || parts.kv_heads < call.kv_heads);
}

AttentionCall call_of(const AttentionShape& s, DType dtype, const HeadPlaces& from) {
  AttentionCall call{.dtype = dtype,
                     .batch = s.batch,
                     .heads = s.heads,
                     .kv_heads = s.kv_heads,
                     .queries = s.queries,
                     .keys = s.keys,
                     .dim = s.dim,
                     .value_dim = s.value_dim,
                     .q_pitch = from.query.pitch,
                     .k_pitch = from.key.pitch,
                     .v_pitch = from.value.pitch,
                     .aligned = is_aligned(from),
                     .causal = s.causal,
                     .scale = float(s.scale),
                     .masked = s.masked,
                     .bias = s.bias,
                     .rate = s.rate,
                     .stream_number = s.stream};
  std::ranges::copy(s.mask_strides, call.mask_strides);
  return call;
}

// The buffers of a node's operands, with the heads where they lie.
std::vector<int> buffers_read(Builder& b, const AttentionShape& s, const Node& node,
                              const HeadPlaces& from) {
  std::vector<int> values = node.inputs, buffers;
  values[s.query()] = from.query.value;
  values[s.key()] = from.key.value;
  values[s.value()] = from.value.value;
  for (int value : values) buffers.push_back(b.input(value));
  return buffers;
}

// Finds heads among the operands of a launch.
struct HeadAddress {
  size_t bytes;  // of an element
  void* operator()(const Launch& at, size_t operand, const HeadPlace& place) const {
    return at.get<char>(operand) + size_t(place.offset) * bytes;
  }
};

// Sets what an own kernel reads.
void bind_inputs(AttentionCall& call, const AttentionShape& s, const HeadPlaces& from,
                 const Launch& at) {
  HeadAddress address{size_of(call.dtype)};
  call.q = address(at, s.query(), from.query);
  call.k = address(at, s.key(), from.key);
  call.v = address(at, s.value(), from.value);
  if (s.masked) call.mask = at.get(s.mask());
  if (s.rate > 0) call.state = at.get<const int64_t>(s.state());
}

}  // namespace

void emit_attention(Builder& b, const Node& node, const HeadPlaces& from) {
  AttentionShape s = attention_shape(b.graph(), node);
  DType dtype = b.spec(node.inputs[s.query()]).dtype;
  std::vector<int> reads = buffers_read(b, s, node, from);
  int out = b.define(node.outputs[0]), lse = b.define(node.outputs[1]);
  size_t next = reads.size();
  AttentionCall call = call_of(s, dtype, from);
  auto bind = [=](const Launch& at) {
    AttentionCall bound = call;
    bind_inputs(bound, s, from, at);
    bound.out = at.get(next);
    bound.lse = at.get<float>(next + 1);
    return bound;
  };
  if (AttentionParts parts = find_plan(b, s, dtype, from, false); parts.plan != nullptr) {
    int workspace = b.scratch(parts.plan->workspace());
    b.emit({parts.plan->name(), reads, {out, lse, workspace}},
           [=](const Launch& at) { run_parts(parts, bind(at), at.get(next + 2), at.device); });
    return;
  }
  b.emit({"own:attention", reads, {out, lse, b.scratch(attention_scratch(call, false))}},
         [=](const Launch& at) {
           AttentionCall bound = bind(at);
           bound.scratch = at.get(next + 2);
           run_attention(bound, at.stream);
         });
}

void emit_attention_grad(Builder& b, const Node& node, const HeadPlaces& from,
                         const HeadPlaces& to) {
  AttentionShape s = attention_shape(b.graph(), node);
  DType dtype = b.spec(node.inputs[s.query()]).dtype;
  std::vector<int> reads = buffers_read(b, s, node, from), writes;
  for (int value : {to.query.value, to.key.value, to.value.value})
    writes.push_back(b.is_defined(value) ? b.input(value) : b.define(value));
  size_t next = reads.size();
  AttentionCall call = call_of(s, dtype, from);
  call.aligned = call.aligned && is_aligned(to);
  auto bind = [=](const Launch& at) {
    AttentionCall bound = call;
    HeadAddress address{size_of(call.dtype)};
    bind_inputs(bound, s, from, at);
    bound.dout = at.get(AttentionShape::kDout);
    bound.out = at.get(s.out());
    bound.lse = at.get<float>(s.logsumexp());
    bound.dq = address(at, next, to.query);
    bound.dk = address(at, next + 1, to.key);
    bound.dv = address(at, next + 2, to.value);
    return bound;
  };
  AttentionParts parts = find_plan(b, s, dtype, from, true);
  bool own = s.deterministic && own_gradient_is_faster(call, parts);
  if (parts.plan != nullptr && !own) {
    writes.push_back(b.scratch(parts.plan->workspace()));
    b.emit({parts.plan->name(), reads, writes},
           [=](const Launch& at) { run_parts(parts, bind(at), at.get(next + 3), at.device); });
    return;
  }
  writes.push_back(b.scratch(attention_scratch(call, true)));
  b.emit({"own:attention", reads, writes}, [=](const Launch& at) {
    AttentionCall bound = bind(at);
    bound.scratch = at.get(next + 3);
    run_attention_grad(bound, at.stream);
  });
}

bool has_attention_kernel(const Node& node) { return !node.attrs.get_or("bias_gradient", false); }

void add_attention_builders(OpBuilders& table) {
  table["attention"] = {[](Builder& b, const Node& node) {
    emit_attention(b, node, own_operands(attention_shape(b.graph(), node), node));
  }};
  table["attention_grad"] = {[](Builder& b, const Node& node) {
    AttentionShape s = attention_shape(b.graph(), node);
    emit_attention_grad(b, node, own_operands(s, node), own_gradients(s, node));
  }};
}

}  // namespace stoker::cuda
