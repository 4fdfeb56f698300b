// attention and its gradient, one query at a time: scores of one row in memory.
#include <algorithm>
#include <cmath>

#include <stoker/random.h>

#include "engine/reference/kernel.h"
#include "graph/ops/attention.h"

namespace stoker::reference {

namespace {

constexpr uint64_t kAttentionStreamsPerStep = 65536;

// One query of one head.
struct AttentionRow {
  int64_t batch, head, query;
};

class Attended {
 public:
  Attended(const Call& call, AttentionShape::Op op) : s(call.attrs, specs(call), op), call_(call) {}

  template <class Body>
  void for_each_row(Body body) const {
    for (int64_t batch = 0; batch < s.batch; ++batch)
      for (int64_t head = 0; head < s.heads; ++head)
        for (int64_t query = 0; query < s.queries; ++query) body(AttentionRow{batch, head, query});
  }

  int64_t at_query(const AttentionRow& row, int64_t dim) const {
    return ((row.batch * s.queries + row.query) * s.heads + row.head) * dim;
  }
  int64_t at_key(const AttentionRow& row, int64_t key, int64_t dim) const {
    return ((row.batch * s.keys + key) * s.kv_heads + row.head / s.group()) * dim;
  }
  int64_t at_row(const AttentionRow& row) const {
    return (row.batch * s.heads + row.head) * s.queries + row.query;
  }
  int64_t at_mask(const AttentionRow& row, int64_t key) const {
    return row.batch * s.mask_strides[0] + row.head * s.mask_strides[1] +
           row.query * s.mask_strides[2] + key * s.mask_strides[3];
  }

  // The score of a key; -infinity: it is not seen.
  Number score(const AttentionRow& row, int64_t key) const {
    if (key >= s.keys_of(row.query)) return -INFINITY;
    Number mask = s.masked ? call_.in(s.mask())[at_mask(row, key)] : Number(1);
    if (s.bias ? mask == -INFINITY : mask == 0) return -INFINITY;
    const Array &q = call_.in(s.query()), &k = call_.in(s.key());
    Number sum = 0;
    for (int64_t i = 0; i < s.dim; ++i)
      sum += q[at_query(row, s.dim) + i] * k[at_key(row, key, s.dim) + i];
    sum *= s.scale;
    return s.bias ? sum + mask : sum;
  }

  // What dropout multiplies a weight with.
  Number kept(const AttentionRow& row, int64_t key) const {
    if (s.rate == 0) return 1;
    const Array& state = call_.in(s.state());
    auto seed = uint64_t(int64_t(state[0])), step = uint64_t(int64_t(state[1]));
    auto element = uint64_t(at_row(row) * s.keys + key);
    uint64_t stream = step * kAttentionStreamsPerStep + uint64_t(s.stream);
    return unit_float(random_bits(seed, stream, element)) >= s.rate ? 1 / (1 - s.rate) : 0;
  }

  const AttentionShape s;

 private:
  static std::vector<TensorSpec> specs(const Call& call) {
    std::vector<TensorSpec> found;
    for (const Array* input : call.inputs) found.push_back(input->spec);
    return found;
  }
  const Call& call_;
};

// Turns scores into weights; log(sum(exp(scores))), or 0 where no key is seen.
Number to_weights(std::vector<Number>& row) {
  Number largest = -INFINITY, sum = 0;
  for (Number score : row) largest = std::isnan(score) || score > largest ? score : largest;
  if (largest == -INFINITY) {
    std::ranges::fill(row, Number(0));
    return 0;
  }
  for (Number& score : row) sum += score = std::exp(score - largest);
  for (Number& weight : row) weight /= sum;
  return largest + std::log(sum);
}

void attention(const Call& call) {
  Attended a(call, AttentionShape::Op::forward);
  const AttentionShape& s = a.s;
  std::vector<Number> weights(static_cast<size_t>(s.keys));
  a.for_each_row([&](const AttentionRow& row) {
    for (int64_t key = 0; key < s.keys; ++key) weights[size_t(key)] = a.score(row, key);
    call.out(1)[a.at_row(row)] = to_weights(weights);
    for (int64_t key = 0; key < s.keys; ++key) {
      Number kept = a.kept(row, key), weight = weights[size_t(key)] * kept;
      if (weights[size_t(key)] == 0 || kept == 0) continue;
      for (int64_t i = 0; i < s.value_dim; ++i)
        call.out(0)[a.at_query(row, s.value_dim) + i] +=
            weight * call.in(s.value())[a.at_key(row, key, s.value_dim) + i];
    }
  });
}

Number dot(const Array& a, int64_t a_at, const Array& b, int64_t b_at, int64_t n) {
  Number sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[a_at + i] * b[b_at + i];
  return sum;
}

void attention_grad(const Call& call) {
  Attended a(call, AttentionShape::Op::gradient);
  const AttentionShape& s = a.s;
  const Array &dout = call.in(AttentionShape::kDout), &q = call.in(s.query()),
              &k = call.in(s.key()), &v = call.in(s.value());
  a.for_each_row([&](const AttentionRow& row) {
    int64_t at_out = a.at_query(row, s.value_dim), at_q = a.at_query(row, s.dim);
    Number through = dot(dout, at_out, call.in(s.out()), at_out, s.value_dim);
    for (int64_t key = 0; key < s.keys; ++key) {
      Number score = a.score(row, key);
      if (score == -INFINITY) continue;
      Number weight = std::exp(score - call.in(s.logsumexp())[a.at_row(row)]);
      int64_t at_k = a.at_key(row, key, s.dim), at_v = a.at_key(row, key, s.value_dim);
      Number kept = a.kept(row, key);
      Number dweight = kept == 0 ? Number(0) : kept * dot(dout, at_out, v, at_v, s.value_dim);
      Number dscore = weight * (dweight - through);
      for (int64_t i = 0; i < s.dim; ++i) {
        call.out(0)[at_q + i] += dscore * s.scale * k[at_k + i];
        call.out(1)[at_k + i] += dscore * s.scale * q[at_q + i];
      }
      for (int64_t i = 0; i < s.value_dim && kept != 0; ++i)
        call.out(2)[at_v + i] += weight * kept * dout[at_out + i];
      if (s.bias_gradient) call.out(3)[a.at_mask(row, key)] += dscore;
    }
  });
}

}  // namespace

void add_attention_kernels(KernelTable& table) {
  table["attention"] = attention;
  table["attention_grad"] = attention_grad;
}

}  // namespace stoker::reference
