// attention and attention_grad. Forwards a panel of queries of one head is one piece of work, with
// its scores alone in memory; backwards a head of keys, with all queries that read it, in blocks. A
// piece's numbers do not depend on the worker that computes it: any team gives the same bits.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"
#include "graph/ops/attention.h"

namespace stoker::cpu {

namespace {

using AttentionOp = AttentionShape::Op;

int64_t whole_panels(int64_t n) {
  int64_t panel = kernels().attention_panel;
  return (n + panel - 1) / panel * panel;
}

std::vector<TensorSpec> attention_specs(const Builder& b, const Node& node) {
  std::vector<TensorSpec> specs;
  for (int value : node.inputs) specs.push_back(b.spec(value));
  return specs;
}

// What all heads of a call share, by the places of the operands.
class AttentionRun {
 public:
  AttentionRun(const AttentionShape& shape, Pointers pointers) : s_(shape), p_(pointers) {}

  // Without k, v, and what only one direction has.
  AttentionHead head(int64_t batch, int64_t head) const {
    AttentionHead h = {};
    h.queries = s_.queries;
    h.keys = s_.keys;
    h.dim = s_.dim;
    h.value_dim = s_.value_dim;
    h.q_line = s_.heads * s_.dim;
    h.out_line = s_.heads * s_.value_dim;
    h.q = p_.in<float>(int(s_.query())) + at_query(batch, head, s_.dim);
    h.scale = float(s_.scale);
    h.causal = s_.causal;
    mask(h, batch, head);
    dropout(h, batch, head);
    return h;
  }
  int64_t at_query(int64_t batch, int64_t head, int64_t dim) const {
    return (batch * s_.queries * s_.heads + head) * dim;
  }
  int64_t at_key(int64_t batch, int64_t kv_head, int64_t dim) const {
    return (batch * s_.keys * s_.kv_heads + kv_head) * dim;
  }
  const float* keys(int64_t batch, int64_t kv_head) const {
    return p_.in<float>(int(s_.key())) + at_key(batch, kv_head, s_.dim);
  }
  const float* values(int64_t batch, int64_t kv_head) const {
    return p_.in<float>(int(s_.value())) + at_key(batch, kv_head, s_.value_dim);
  }

 private:
  void mask(AttentionHead& h, int64_t batch, int64_t head) const {
    if (!s_.masked) return;
    int64_t at = batch * s_.mask_strides[0] + head * s_.mask_strides[1];
    h.mask_kind = s_.bias ? AttentionHead::kBias : AttentionHead::kBool;
    h.mask = s_.bias ? static_cast<const void*>(p_.in<float>(int(s_.mask())) + at)
                     : p_.in<bool>(int(s_.mask())) + at;
    h.mask_query = s_.mask_strides[2];
    h.mask_key = s_.mask_strides[3];
  }
  void dropout(AttentionHead& h, int64_t batch, int64_t head) const {
    if (s_.rate == 0) return;
    const int64_t* state = p_.in<int64_t>(int(s_.state()));
    h.seed = uint64_t(state[0]);
    h.stream = uint64_t(state[1]) * 65536 + uint64_t(s_.stream);
    h.first_element = uint64_t((batch * s_.heads + head) * s_.queries * s_.keys);
    h.threshold = uint32_t(std::ceil(s_.rate * 0x1p24));
    h.kept = float(1 / (1 - s_.rate));
  }

  const AttentionShape& s_;
  Pointers p_;
};

// Rows of n floats, `line` apart, side by side in whole panels.
void copy_to_panels(const float* rows, int64_t line, int64_t count, int64_t n, float* to) {
  int64_t width = whole_panels(n);
  for (int64_t row = 0; row < count; ++row, rows += line, to += width) {
    std::memcpy(to, rows, size_t(n) * sizeof(float));
    std::fill(to + n, to + width, 0.0F);
  }
}

void copy_from_panels(const float* from, int64_t count, int64_t n, float* rows, int64_t line) {
  for (int64_t row = 0; row < count; ++row, rows += line, from += whole_panels(n))
    std::memcpy(rows, from, size_t(n) * sizeof(float));
}

AttentionHead head_sizes(const AttentionShape& s) {
  AttentionHead h = {};
  h.queries = s.queries;
  h.keys = s.keys;
  h.dim = s.dim;
  h.value_dim = s.value_dim;
  return h;
}

size_t float_bytes_of(int64_t floats) {
  return size_t(std::max<int64_t>(floats, 1)) * sizeof(float);
}

// Pieces one after the other to the workers: neighbours take about as long.
template <class Body>
void share_out(int64_t pieces, double flops, const Body& body) {
  parallel_team(int64_t(std::min(flops, 1e15)), kGrain * 8, [&](int worker, int workers) {
    for (int64_t piece = worker; piece < pieces; piece += workers) body(piece, worker);
  });
}

// q, k, v [, mask] [, state] → out, logsumexp
void build_attention(Builder& b, const Node& node) {
  AttentionShape s(node.attrs, attention_specs(b, node), AttentionOp::forward);
  std::vector<int> reads;
  for (int value : node.inputs) reads.push_back(b.plain(value));
  int out = b.define(node.outputs[0]), lse = b.define(node.outputs[1]);
  // A head's steps lie far apart: they are brought together first, unless few queries read them.
  constexpr int64_t kFewQueries = 8;
  bool gathered = s.queries > kFewQueries || whole_panels(s.value_dim) != s.value_dim;
  int64_t k_size = s.keys * whole_panels(s.dim), v_size = s.keys * whole_panels(s.value_dim);
  int64_t kv_heads = s.batch * s.kv_heads;
  int gathered_kv = b.scratch(float_bytes_of(gathered ? kv_heads * (k_size + v_size) : 1));
  int64_t each = kernels().attention_scratch(head_sizes(s));
  int scratch = b.scratch(float_bytes_of(each * team_size()));
  double flops = s.pairs() * double(2 * (s.dim + s.value_dim));
  auto first = int(reads.size());
  b.emit({own_kernel() + ":attention", reads, {out, lse, gathered_kv, scratch}}, [=](Pointers p) {
    AttentionRun run(s, p);
    float* together = p.out<float>(first + 2);
    if (gathered)
      share_out(kv_heads, double(kv_heads * (k_size + v_size)), [&](int64_t kv, int) {
        float* to = together + kv * (k_size + v_size);
        int64_t batch = kv / s.kv_heads, head = kv % s.kv_heads;
        copy_to_panels(run.keys(batch, head), s.kv_heads * s.dim, s.keys, s.dim, to);
        copy_to_panels(run.values(batch, head), s.kv_heads * s.value_dim, s.keys, s.value_dim,
                       to + k_size);
      });
    int64_t panels = (s.queries + kernels().attention_panel - 1) / kernels().attention_panel;
    share_out(s.batch * s.heads * panels, flops, [&](int64_t piece, int worker) {
      int64_t batch = piece / panels / s.heads, head = piece / panels % s.heads;
      int64_t kv_head = head / s.group();
      AttentionHead h = run.head(batch, head);
      const float* near = together + (batch * s.kv_heads + kv_head) * (k_size + v_size);
      h.k = gathered ? near : run.keys(batch, kv_head);
      h.v = gathered ? near + k_size : run.values(batch, kv_head);
      h.k_line = gathered ? whole_panels(s.dim) : s.kv_heads * s.dim;
      h.v_line = gathered ? whole_panels(s.value_dim) : s.kv_heads * s.value_dim;
      h.out = p.out<float>(first) + run.at_query(batch, head, s.value_dim);
      h.logsumexp = p.out<float>(first + 1) + (batch * s.heads + head) * s.queries;
      kernels().attention(h, piece % panels * kernels().attention_panel,
                          p.out<float>(first + 3) + worker * each);
    });
  });
}

// dout, q, k, v [, mask] [, state], out, logsumexp → dq, dk, dv
void build_attention_grad(Builder& b, const Node& node) {
  AttentionShape s(node.attrs, attention_specs(b, node), AttentionOp::gradient);
  std::vector<int> reads;
  for (int value : node.inputs) reads.push_back(b.plain(value));
  std::vector<int> writes;
  for (int value : node.outputs) writes.push_back(b.define(value));
  int64_t k_size = s.keys * whole_panels(s.dim), v_size = s.keys * whole_panels(s.value_dim);
  // Per worker: k, v, dk and dv of a head side by side, and the kernel's own.
  int64_t each = 2 * (k_size + v_size) + kernels().attention_grad_scratch(head_sizes(s));
  writes.push_back(b.scratch(float_bytes_of(each * team_size())));
  double flops = s.pairs() * double(6 * s.dim + 4 * s.value_dim);
  auto first = int(reads.size());
  b.emit({own_kernel() + ":attention", reads, writes}, [=](Pointers p) {
    AttentionRun run(s, p);
    share_out(s.batch * s.kv_heads, flops, [&](int64_t piece, int worker) {
      int64_t batch = piece / s.kv_heads, kv_head = piece % s.kv_heads;
      float* k = p.out<float>(first + 3) + worker * each;
      float *v = k + k_size, *dk = v + v_size, *dv = dk + k_size, *scratch = dv + v_size;
      copy_to_panels(run.keys(batch, kv_head), s.kv_heads * s.dim, s.keys, s.dim, k);
      copy_to_panels(run.values(batch, kv_head), s.kv_heads * s.value_dim, s.keys, s.value_dim, v);
      std::fill(dk, scratch, 0.0F);
      for (int64_t head = kv_head * s.group(); head < (kv_head + 1) * s.group(); ++head) {
        AttentionHead h = run.head(batch, head);
        int64_t at_out = run.at_query(batch, head, s.value_dim);
        h.k = k;
        h.v = v;
        h.k_line = whole_panels(s.dim);
        h.v_line = whole_panels(s.value_dim);
        h.dout = p.in<float>(AttentionShape::kDout) + at_out;
        h.out = const_cast<float*>(p.in<float>(int(s.out()))) + at_out;
        h.logsumexp = const_cast<float*>(p.in<float>(int(s.logsumexp()))) +
                      (batch * s.heads + head) * s.queries;
        h.dq = p.out<float>(first) + run.at_query(batch, head, s.dim);
        kernels().attention_grad(h, dk, dv, scratch);
      }
      for (int64_t i = 0; i < k_size; ++i) dk[i] *= float(s.scale);
      copy_from_panels(dk, s.keys, s.dim,
                       p.out<float>(first + 1) + run.at_key(batch, kv_head, s.dim),
                       s.kv_heads * s.dim);
      copy_from_panels(dv, s.keys, s.value_dim,
                       p.out<float>(first + 2) + run.at_key(batch, kv_head, s.value_dim),
                       s.kv_heads * s.value_dim);
    });
  });
}

}  // namespace

bool has_attention_kernel(const Node& node) { return !node.attrs.get_or("bias_gradient", false); }

void add_attention_builders(OpBuilders& table) {
  table["attention"] = {floats, build_attention};
  table["attention_grad"] = {floats, build_attention_grad};
}

}  // namespace stoker::cpu
