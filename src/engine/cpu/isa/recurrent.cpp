// The gates of a recurrent layer, for a few rows of the batch and a few units: what follows the
// products of a step, forwards and backwards.
#include "base/ivdep.h"
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/math.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

constexpr int kRows = KernelTable::kGemmRows;
enum : int { kLstm, kGru, kTanh, kRelu };

// NaN stays NaN.
STOKER_INLINE float relu(float x) { return x < 0 ? 0.0F : x; }

STOKER_INLINE bool counts(const bool* mask, int64_t stride, int64_t row) {
  return mask == nullptr || mask[row * stride];
}

// x: [rows, units] → packed: [n, kRows], as gemm_tile takes it
STOKER_INLINE void pack(const float* x, int64_t rows, int64_t n, int64_t line, float* packed) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < n; ++i) packed[i * kRows + row] = x[row * line + i];
}

STOKER_INLINE void lstm_row(const RecurrentTile& t, int64_t row) {
  const int64_t units = t.units, n = t.n;
  const float* p = t.product + row * t.width;
  const int64_t next = kRows * t.width;  // from gate to gate
  float* g = t.gates + row * 4 * units;
  const float* before = t.c_before + row * units;
  float *c = t.c + row * units, *h = t.h + row * units;
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    float in = sigmoid(g[i] + p[i]), forget = sigmoid(g[units + i] + p[next + i]);
    float candidate = tanh(g[2 * units + i] + p[2 * next + i]);
    float out = sigmoid(g[3 * units + i] + p[3 * next + i]);
    g[i] = in;
    g[units + i] = forget;
    g[2 * units + i] = candidate;
    g[3 * units + i] = out;
    float cell = fma(forget, before[i], in * candidate);
    c[i] = cell;
    h[i] = out * tanh(cell);
  }
}

STOKER_INLINE void gru_row(const RecurrentTile& t, int64_t row) {
  const int64_t units = t.units, n = t.n;
  const float* p = t.product + row * t.width;
  const int64_t next = kRows * t.width;
  float* g = t.gates + row * 3 * units;
  const float *before = t.h_before + row * units, *bias = t.bias;
  float *h = t.h + row * units, *inner = t.c + row * units;
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    float update = sigmoid(g[i] + (p[i] + bias[i]));
    float reset = sigmoid(g[units + i] + (p[next + i] + bias[units + i]));
    float q = p[2 * next + i] + bias[2 * units + i];
    float candidate = tanh(fma(reset, q, g[2 * units + i]));
    g[i] = update;
    g[units + i] = reset;
    g[2 * units + i] = candidate;
    inner[i] = q;
    h[i] = fma(update, before[i] - candidate, candidate);
  }
}

template <int kCell>
STOKER_INLINE void simple_row(const RecurrentTile& t, int64_t row) {
  const float* p = t.product + row * t.width;
  float *g = t.gates + row * t.units, *h = t.h + row * t.units;
  STOKER_IVDEP
  for (int64_t i = 0; i < t.n; ++i) {
    float x = g[i] + p[i];
    float y = kCell == kTanh ? tanh(x) : relu(x);
    g[i] = y;
    h[i] = y;
  }
}

template <int kCell>
void recurrent_tile(const RecurrentTile& t) {
  for (int64_t row = 0; row < t.rows; ++row) {
    if (!counts(t.mask, t.mask_stride, row)) {
      for (int64_t i = 0; i < t.n; ++i) t.h[row * t.units + i] = t.h_before[row * t.units + i];
      for (int64_t i = 0; i < t.n && kCell == kLstm; ++i)
        t.c[row * t.units + i] = t.c_before[row * t.units + i];
      continue;
    }
    if constexpr (kCell == kLstm)
      lstm_row(t, row);
    else if constexpr (kCell == kGru)
      gru_row(t, row);
    else
      simple_row<kCell>(t, row);
  }
  pack(t.h, t.rows, t.n, t.units, t.packed);
}

// --- backwards ---

STOKER_INLINE void lstm_grad_row(const RecurrentGradTile& t, int64_t row) {
  const int64_t units = t.units;
  const float *g = t.gates + row * 4 * units, *before = t.c_before + row * units,
              *after = t.c + row * units, *dy = t.dy + row * t.dy_stride;
  float *d = t.dgates + row * 4 * units, *dh = t.dh + row * units, *dc = t.dc + row * units,
        *repeated = t.repeated + row * units;
  STOKER_IVDEP
  for (int64_t i = 0; i < t.n; ++i) {
    float in = g[i], forget = g[units + i], candidate = g[2 * units + i], out = g[3 * units + i];
    float gradient = dh[i] + (dy[i] + repeated[i]), cell = tanh(after[i]);
    float total = fma(gradient * out, 1 - cell * cell, dc[i]);
    d[i] = total * candidate * (in * (1 - in));
    d[units + i] = total * before[i] * (forget * (1 - forget));
    d[2 * units + i] = total * in * (1 - candidate * candidate);
    d[3 * units + i] = gradient * cell * (out * (1 - out));
    dc[i] = total * forget;
    dh[i] = 0;
    repeated[i] = 0;
  }
}

STOKER_INLINE void gru_grad_row(const RecurrentGradTile& t, int64_t row) {
  const int64_t units = t.units;
  const float *g = t.gates + row * 3 * units, *before = t.h_before + row * units,
              *inner = t.c + row * units, *dy = t.dy + row * t.dy_stride;
  float *d = t.dgates + row * 3 * units, *r = t.drecurrent + row * 3 * units,
        *dh = t.dh + row * units, *repeated = t.repeated + row * units;
  STOKER_IVDEP
  for (int64_t i = 0; i < t.n; ++i) {
    float update = g[i], reset = g[units + i], candidate = g[2 * units + i];
    float gradient = dh[i] + (dy[i] + repeated[i]);
    float through = gradient * (1 - update) * (1 - candidate * candidate);
    float du = gradient * (before[i] - candidate) * (update * (1 - update));
    float dr = through * inner[i] * (reset * (1 - reset));
    d[i] = du;
    d[units + i] = dr;
    d[2 * units + i] = through;
    r[i] = du;
    r[units + i] = dr;
    r[2 * units + i] = through * reset;
    dh[i] = gradient * update;
    repeated[i] = 0;
  }
}

template <int kCell>
STOKER_INLINE void simple_grad_row(const RecurrentGradTile& t, int64_t row) {
  const float *g = t.gates + row * t.units, *dy = t.dy + row * t.dy_stride;
  float *d = t.dgates + row * t.units, *dh = t.dh + row * t.units,
        *repeated = t.repeated + row * t.units;
  STOKER_IVDEP
  for (int64_t i = 0; i < t.n; ++i) {
    float gradient = dh[i] + (dy[i] + repeated[i]);
    d[i] = kCell == kTanh ? gradient * (1 - g[i] * g[i]) : g[i] > 0 ? gradient : 0.0F;
    dh[i] = 0;
    repeated[i] = 0;
  }
}

template <int kCell>
void recurrent_grad_tile(const RecurrentGradTile& t) {
  constexpr int kGates = kCell == kLstm ? 4 : kCell == kGru ? 3 : 1;
  for (int64_t row = 0; row < t.rows; ++row) {
    float* dh = t.dh + row * t.units;
    for (int64_t i = 0; i < t.n && t.product != nullptr; ++i) dh[i] += t.product[row * t.width + i];
    if (t.gates == nullptr) continue;
    if (counts(t.mask, t.mask_stride, row)) {
      if constexpr (kCell == kLstm)
        lstm_grad_row(t, row);
      else if constexpr (kCell == kGru)
        gru_grad_row(t, row);
      else
        simple_grad_row<kCell>(t, row);
      continue;
    }
    float* repeated = t.repeated + row * t.units;
    for (int64_t i = 0; i < t.n && !t.zero_masked; ++i) repeated[i] += t.dy[row * t.dy_stride + i];
    for (int gate = 0; gate < kGates; ++gate)
      for (int64_t i = 0; i < t.n; ++i) {
        int64_t at = (row * kGates + gate) * t.units + i;
        t.dgates[at] = 0;
        t.drecurrent[at] = 0;
      }
  }
  if (t.gates == nullptr) return;
  for (int gate = 0; gate < kGates; ++gate)
    pack(t.drecurrent + gate * t.units, t.rows, t.n, kGates * t.units,
         t.packed + gate * t.units * kRows);
}

}  // namespace

void add_recurrent(KernelTable& table) {
  table.recurrent_tile[kLstm] = recurrent_tile<kLstm>;
  table.recurrent_tile[kGru] = recurrent_tile<kGru>;
  table.recurrent_tile[kTanh] = recurrent_tile<kTanh>;
  table.recurrent_tile[kRelu] = recurrent_tile<kRelu>;
  table.recurrent_grad_tile[kLstm] = recurrent_grad_tile<kLstm>;
  table.recurrent_grad_tile[kGru] = recurrent_grad_tile<kGru>;
  table.recurrent_grad_tile[kTanh] = recurrent_grad_tile<kTanh>;
  table.recurrent_grad_tile[kRelu] = recurrent_grad_tile<kRelu>;
}

}  // namespace stoker::cpu::STOKER_ISA
