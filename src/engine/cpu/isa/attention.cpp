// Attention, a panel of queries at a time: scores are [keys, kPanel], a query per lane, so that
// their softmax needs no sums across lanes. Products are tiles of six rows by two vectors with their
// sums in registers, whose left operand is read as it lies.
#include "base/ivdep.h"
#include "base/philox_lanes.h"
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/vector.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

constexpr int kTileRows = 6, kTileVectors = 2;
constexpr int64_t kPanel = kTileVectors * kLanes;
constexpr float kUnseen = -__builtin_inff();

// Element (row, i) of the left operand is at row · row_step + i · step.
struct Left {
  const float* at;
  int64_t row_step, step;
};
// Row i, of whole panels.
struct Right {
  const float* at;
  int64_t line;
};

template <int kUsed>
void tile(Left a, Right b, int64_t k, float* c, int64_t c_line, bool add) {
  Vector sum[kUsed][kTileVectors] = {};
  int64_t offset[kUsed];
#pragma GCC unroll 6
  for (int row = 0; row < kUsed; ++row) offset[row] = row * a.row_step;
  const float *left = a.at, *right = b.at;
  for (int64_t i = 0; i < k; ++i, left += a.step, right += b.line) {
    Vector wide[kTileVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) wide[v] = load<Vector>(right + v * kLanes);
#pragma GCC unroll 6
    for (int row = 0; row < kUsed; ++row) {
      Vector one = Vector{} + left[offset[row]];
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) sum[row][v] = multiply_add(one, wide[v], sum[row][v]);
    }
  }
#pragma GCC unroll 6
  for (int row = 0; row < kUsed; ++row)
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) {
      float* to = c + row * c_line + v * kLanes;
      store(to, add ? load<Vector>(to) + sum[row][v] : sum[row][v]);
    }
}

void some_rows(int64_t rows, Left a, Right b, int64_t k, float* c, int64_t c_line, bool add) {
  switch (rows) {
    case 1:
      return tile<1>(a, b, k, c, c_line, add);
    case 2:
      return tile<2>(a, b, k, c, c_line, add);
    case 3:
      return tile<3>(a, b, k, c, c_line, add);
    case 4:
      return tile<4>(a, b, k, c, c_line, add);
    case 5:
      return tile<5>(a, b, k, c, c_line, add);
    default:
      return tile<6>(a, b, k, c, c_line, add);
  }
}

// c: [rows, columns], columns in whole panels.
void multiply(int64_t rows, int64_t columns, int64_t k, Left a, Right b, float* c, int64_t c_line,
              bool add) {
  for (int64_t column = 0; column < columns; column += kPanel)
    for (int64_t row = 0; row < rows; row += kTileRows)
      some_rows(rows - row < kTileRows ? rows - row : kTileRows,
                {a.at + row * a.row_step, a.row_step, a.step}, {b.at + column, b.line}, k,
                c + row * c_line + column, c_line, add);
}

STOKER_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
STOKER_INLINE int64_t padded(int64_t n) { return (n + kPanel - 1) / kPanel * kPanel; }

// `count` rows of n floats → [n, kPanel], times `scale`; lanes beyond are zeros.
void turn(const float* rows, int64_t line, int64_t count, int64_t n, float scale, float* to) {
  for (int64_t lane = 0; lane < kPanel; ++lane)
    for (int64_t i = 0; i < n; ++i)
      to[i * kPanel + lane] = lane < count ? rows[lane * line + i] * scale : 0.0F;
}

// `count` rows of n floats → [count, width]; what is beyond n is zeros.
void copy_rows(const float* rows, int64_t line, int64_t count, int64_t n, float* to,
               int64_t width) {
  for (int64_t row = 0; row < count; ++row, rows += line, to += width) {
    __builtin_memcpy(to, rows, uint64_t(n) * sizeof(float));
    for (int64_t i = n; i < width; ++i) to[i] = 0;
  }
}

// --- what a query sees ---------------------------------------------------------------------------

// scores: [keys, line] from key `first_key` on, one lane per query from `query` on.
void apply_mask(const AttentionHead& h, int64_t query, int64_t lanes, int64_t first_key,
                int64_t keys, float* scores, int64_t line) {
  if (h.mask_kind == AttentionHead::kNoMask) return;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t at = (query + lane) * h.mask_query + first_key * h.mask_key;
    if (h.mask_kind == AttentionHead::kBool) {
      const bool* seen = static_cast<const bool*>(h.mask) + at;
      for (int64_t key = 0; key < keys; ++key)
        if (!seen[key * h.mask_key]) scores[key * line + lane] = kUnseen;
    } else {
      const float* bias = static_cast<const float*>(h.mask) + at;
      for (int64_t key = 0; key < keys; ++key) scores[key * line + lane] += bias[key * h.mask_key];
    }
  }
}

void apply_causal(const AttentionHead& h, int64_t query, int64_t lanes, int64_t first_key,
                  int64_t keys, float* scores, int64_t line) {
  if (!h.causal) return;
  int64_t key = query + 1 - first_key;  // the first that a lane does not see
  for (key = key < 0 ? 0 : key; key < keys; ++key) {
    int64_t blind = smaller(lanes, first_key + key - query);
    for (int64_t lane = 0; lane < blind; ++lane) scores[key * line + lane] = kUnseen;
  }
}

// What dropout multiplies the weights of one query with, for keys from `first_key` on.
void kept_row(const AttentionHead& h, int64_t query, int64_t first_key, int64_t keys, float* to) {
  uint64_t first = h.first_element + uint64_t(query * h.keys + first_key), begin = first / 4 * 4;
  for (uint64_t at = begin; at < first + uint64_t(keys); at += kPhiloxWords) {
    uint32_t bits[kPhiloxWords];
    philox_lanes(h.seed, h.stream, at / 4, bits);
    for (uint64_t lane = 0; lane < kPhiloxWords; ++lane)
      if (at + lane >= first && at + lane < first + uint64_t(keys))
        to[at + lane - first] = (bits[lane] >> 8) >= h.threshold ? h.kept : 0.0F;
  }
}

// --- forward -------------------------------------------------------------------------------------

// exp() of math.h on a vector: a loop over so few lanes would be unrolled instead of turned into one.
STOKER_INLINE Vector exp_vector(Vector x) {
  const Vector zero = {}, low = zero - 104.0F, high = zero + 89.0F;
  Vector within = x < low ? low : x > high ? high : x;
  Vector scaled = within * 1.44269504F;
  Integers n =
      __builtin_convertvector(scaled + (scaled < zero ? zero - 0.5F : zero + 0.5F), Integers);
  Vector whole = __builtin_convertvector(n, Vector);
  Vector r = multiply_add(whole, zero - 0.693359375F, within);
  r = multiply_add(whole, zero + 2.12194440e-4F, r);
  Vector p = multiply_add(zero + 1.9875691500e-4F, r, zero + 1.3981999507e-3F);
  p = multiply_add(p, r, zero + 8.3334519073e-3F);
  p = multiply_add(p, r, zero + 4.1665795894e-2F);
  p = multiply_add(p, r, zero + 1.6666665459e-1F);
  p = multiply_add(p, r, zero + 5.0000001201e-1F);
  Vector e = multiply_add(p, r * r, r) + 1.0F;
  Integers half = n >> 1;
  Vector first = Vector(Integers(e) + half * (1 << 23)), second = Vector((n - half + 127) << 23);
  return x == x ? first * second : x;
}

// scores → e^(score - largest), and per lane the largest and the sum. NaN stays NaN through the sum.
void exponentials(float* scores, int64_t keys, float* largest, float* sum) {
  for (int at = 0; at < kPanel; at += kLanes) {
    Vector top = Vector{} + kUnseen, all = {};
    for (float* score = scores + at; score < scores + keys * kPanel; score += kPanel) {
      Vector one = load<Vector>(score);
      top = one > top ? one : top;
    }
    top = top == kUnseen ? Vector{} : top;
    for (float* score = scores + at; score < scores + keys * kPanel; score += kPanel) {
      Vector e = exp_vector(load<Vector>(score) - top);
      store(score, e);
      all += e;
    }
    store(largest + at, top);
    store(sum + at, all);
  }
}

void drop(const AttentionHead& h, int64_t query, int64_t lanes, int64_t keys, float* weights,
          float* row) {
  for (int64_t lane = 0; lane < lanes; ++lane) {
    kept_row(h, query + lane, 0, keys, row);
    for (int64_t key = 0; key < keys; ++key) weights[key * kPanel + lane] *= row[key];
  }
}

int64_t attention_scratch(const AttentionHead& h) {
  return h.keys * (kPanel + 1) + h.dim * kPanel + kPanel * padded(h.value_dim);
}

void attention(const AttentionHead& h, int64_t query, float* scratch) {
  constexpr int64_t kBlock = 128;  // keys whose values stay in the first cache
  const int64_t lanes = smaller(kPanel, h.queries - query), width = padded(h.value_dim);
  const int64_t keys = h.causal ? smaller(h.keys, query + lanes) : h.keys;
  float *scores = scratch, *panel = scores + h.keys * kPanel, *sums = panel + h.dim * kPanel,
        *row = sums + kPanel * width;
  float largest[kPanel], total[kPanel];
  turn(h.q + query * h.q_line, h.q_line, lanes, h.dim, h.scale, panel);
  multiply(keys, kPanel, h.dim, {h.k, h.k_line, 1}, {panel, kPanel}, scores, kPanel, false);
  apply_mask(h, query, lanes, 0, keys, scores, kPanel);
  apply_causal(h, query, lanes, 0, keys, scores, kPanel);
  exponentials(scores, keys, largest, total);
  if (h.threshold > 0) drop(h, query, lanes, keys, scores, row);
  for (int64_t key = 0; key < keys; key += kBlock)
    multiply(lanes, width, smaller(kBlock, keys - key), {scores + key * kPanel, 1, kPanel},
             {h.v + key * h.v_line, h.v_line}, sums, width, key > 0);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    bool empty = total[lane] == 0;
    float inverse = empty ? 0.0F : 1 / total[lane];
    h.logsumexp[query + lane] = empty ? 0.0F : largest[lane] + log(total[lane]);
    float* out = h.out + (query + lane) * h.out_line;
    for (int64_t i = 0; i < h.value_dim; ++i)
      out[i] = empty ? 0.0F : sums[lane * width + i] * inverse;
  }
}

// --- backward ------------------------------------------------------------------------------------

constexpr int64_t kKeyBlock = 96, kQueryBlock = 64;  // tiles of weights: 24 KB each
static_assert(kQueryBlock % kPanel == 0);

// All that one head's queries give, in forms that products read. Rows are padded to whole panels.
struct GradScratch {
  float *q_turned, *dout_turned;  // [panels, dim, kPanel]
  float *q, *dout;                // [queries, width]
  float *through, *logsumexp;     // [queries]: Σ dout · out
  float* dq;                      // [queries, width]
  float *weights, *dscores;       // [kKeyBlock, kQueryBlock]
  float* kept;                    // [kKeyBlock]

  static int64_t floats(const AttentionHead& h) {
    int64_t queries = (h.queries + kQueryBlock - 1) / kQueryBlock * kQueryBlock;
    int64_t dim = padded(h.dim), value_dim = padded(h.value_dim);
    return queries * (h.dim + h.value_dim + 2 * dim + value_dim + 2) + 2 * kKeyBlock * kQueryBlock +
           kKeyBlock;
  }
  GradScratch(const AttentionHead& h, float* from) {
    int64_t queries = (h.queries + kQueryBlock - 1) / kQueryBlock * kQueryBlock;
    auto take = [&](int64_t floats) {
      float* taken = from;
      from += floats;
      return taken;
    };
    q_turned = take(queries * h.dim);
    dout_turned = take(queries * h.value_dim);
    q = take(queries * padded(h.dim));
    dq = take(queries * padded(h.dim));
    dout = take(queries * padded(h.value_dim));
    through = take(queries);
    logsumexp = take(queries);
    weights = take(kKeyBlock * kQueryBlock);
    dscores = take(kKeyBlock * kQueryBlock);
    kept = take(kKeyBlock);
  }
};

int64_t attention_grad_scratch(const AttentionHead& h) { return GradScratch::floats(h); }

void prepare(const AttentionHead& h, const GradScratch& s) {
  const int64_t dim = padded(h.dim), value_dim = padded(h.value_dim);
  int64_t queries = (h.queries + kQueryBlock - 1) / kQueryBlock * kQueryBlock;
  for (int64_t query = 0; query < queries; query += kPanel) {
    int64_t lanes = smaller(kPanel, h.queries - query);
    lanes = lanes < 0 ? 0 : lanes;
    turn(h.q + query * h.q_line, h.q_line, lanes, h.dim, h.scale, s.q_turned + query * h.dim);
    turn(h.dout + query * h.out_line, h.out_line, lanes, h.value_dim, 1,
         s.dout_turned + query * h.value_dim);
  }
  copy_rows(h.q, h.q_line, h.queries, h.dim, s.q, dim);
  copy_rows(h.dout, h.out_line, h.queries, h.value_dim, s.dout, value_dim);
  for (int64_t i = h.queries * dim; i < queries * dim; ++i) s.q[i] = 0;
  for (int64_t i = h.queries * value_dim; i < queries * value_dim; ++i) s.dout[i] = 0;
  for (int64_t i = 0; i < queries * dim; ++i) s.dq[i] = 0;
  for (int64_t query = 0; query < queries; ++query) {
    float sum = 0;
    for (int64_t i = 0; i < h.value_dim && query < h.queries; ++i)
      sum += h.dout[query * h.out_line + i] * h.out[query * h.out_line + i];
    s.through[query] = sum;
    s.logsumexp[query] = query < h.queries ? h.logsumexp[query] : 0.0F;
  }
}

// A block of keys, and of queries those from `begin` to `end` that see any of them; both begin with
// a panel.
struct Block {
  int64_t key, keys, query, begin, end;
  Block(const AttentionHead& h, int64_t first_key, int64_t first_query)
      : key(first_key),
        keys(smaller(kKeyBlock, h.keys - first_key)),
        query(first_query),
        begin(0),
        end(smaller(kQueryBlock, h.queries - first_query)) {
    if (!h.causal) return;
    if (key > query) begin = (key - query) / kPanel * kPanel;
    keys = smaller(keys, query + end - key);
  }
};

// Weights and their gradients for one block, both [keys, kQueryBlock].
void block_weights(const AttentionHead& h, const GradScratch& s, const Block& block) {
  const int64_t key = block.key, keys = block.keys, query = block.query;
  for (int64_t panel = block.begin; panel < block.end; panel += kPanel) {
    float *weights = s.weights + panel, *dscores = s.dscores + panel;
    int64_t at = query + panel, lanes = smaller(kPanel, h.queries - at);
    multiply(keys, kPanel, h.dim, {h.k + key * h.k_line, h.k_line, 1},
             {s.q_turned + at * h.dim, kPanel}, weights, kQueryBlock, false);
    multiply(keys, kPanel, h.value_dim, {h.v + key * h.v_line, h.v_line, 1},
             {s.dout_turned + at * h.value_dim, kPanel}, dscores, kQueryBlock, false);
    apply_mask(h, at, lanes, key, keys, weights, kQueryBlock);
    apply_causal(h, at, lanes, key, keys, weights, kQueryBlock);
    for (int v = 0; v < kPanel; v += kLanes) {
      Vector minus = load<Vector>(s.logsumexp + at + v);
      for (int64_t row = 0; row < keys; ++row) {
        float* weight = weights + row * kQueryBlock + v;
        store(weight, exp_vector(load<Vector>(weight) - minus));
      }
    }
  }
}

// dscores = weights · (kept · dweights - through); weights = kept · weights
void block_gradients(const AttentionHead& h, const GradScratch& s, const Block& block) {
  if (h.threshold == 0) {
    for (int64_t row = 0; row < block.keys; ++row) {
      STOKER_IVDEP
      for (int64_t lane = block.begin; lane < block.end; ++lane) {
        float& dscore = s.dscores[row * kQueryBlock + lane];
        dscore = s.weights[row * kQueryBlock + lane] * (dscore - s.through[block.query + lane]);
      }
    }
    return;
  }
  for (int64_t lane = block.begin; lane < block.end; ++lane) {
    kept_row(h, block.query + lane, block.key, block.keys, s.kept);
    for (int64_t row = 0; row < block.keys; ++row) {
      float &dscore = s.dscores[row * kQueryBlock + lane],
            &weight = s.weights[row * kQueryBlock + lane];
      dscore = weight * (s.kept[row] * dscore - s.through[block.query + lane]);
      weight *= s.kept[row];
    }
  }
}

// Adds to dk: [keys, padded dim] and dv: [keys, padded value_dim], of the head that this one reads.
void attention_grad(const AttentionHead& h, float* dk, float* dv, float* scratch) {
  GradScratch s(h, scratch);
  const int64_t dim = padded(h.dim), value_dim = padded(h.value_dim);
  prepare(h, s);
  for (int64_t key = 0; key < h.keys; key += kKeyBlock)
    for (int64_t query = h.causal ? key / kQueryBlock * kQueryBlock : 0; query < h.queries;
         query += kQueryBlock) {
      Block block(h, key, query);
      int64_t from = query + block.begin, count = block.end - block.begin;
      if (count <= 0 || block.keys <= 0) continue;
      float *dscores = s.dscores + block.begin, *weights = s.weights + block.begin;
      block_weights(h, s, block);
      block_gradients(h, s, block);
      multiply(count, dim, block.keys, {dscores, 1, kQueryBlock}, {h.k + key * h.k_line, h.k_line},
               s.dq + from * dim, dim, true);
      multiply(block.keys, dim, count, {dscores, kQueryBlock, 1}, {s.q + from * dim, dim},
               dk + key * dim, dim, true);
      multiply(block.keys, value_dim, count, {weights, kQueryBlock, 1},
               {s.dout + from * value_dim, value_dim}, dv + key * value_dim, value_dim, true);
    }
  for (int64_t query = 0; query < h.queries; ++query)
    for (int64_t i = 0; i < h.dim; ++i)
      h.dq[query * h.q_line + i] = s.dq[query * dim + i] * h.scale;
}

}  // namespace

void add_attention(KernelTable& table) {
  table.attention_panel = kPanel;
  table.attention = attention;
  table.attention_scratch = attention_scratch;
  table.attention_grad = attention_grad;
  table.attention_grad_scratch = attention_grad_scratch;
}

}  // namespace stoker::cpu::STOKER_ISA
