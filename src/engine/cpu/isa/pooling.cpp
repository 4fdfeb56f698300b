// Pooling on one plane [H][W][inner], which is an image in NHWC or one block of channels of a
// blocked one. kInner is `inner` when it is known (8 or 16), or 0.
#include "base/ivdep.h"
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/math.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

STOKER_INLINE float larger(float a, float b) { return a > b ? a : b; }

// The part of a window that lies in the image.
struct Range {
  int64_t begin, end;
};
STOKER_INLINE Range clipped(int64_t out, int64_t stride, int64_t before, int64_t window,
                            int64_t extent) {
  int64_t begin = out * stride - before, end = begin + window;
  return {begin < 0 ? 0 : begin, end > extent ? extent : end};
}
STOKER_INLINE Range rows_of(const PoolGeometry& g, int64_t row) {
  return clipped(row, g.stride_h, g.top, g.window_h, g.height);
}
STOKER_INLINE Range columns_of(const PoolGeometry& g, int64_t column) {
  return clipped(column, g.stride_w, g.left, g.window_w, g.width);
}

// Windows of 2×2 side by side, the usual case: every pixel belongs to one window at most.
bool is_two_by_two(const PoolGeometry& g) {
  return g.window_h == 2 && g.window_w == 2 && g.stride_h == 2 && g.stride_w == 2 && g.top == 0 &&
         g.left == 0 && 2 * g.out_height <= g.height && 2 * g.out_width <= g.width;
}

// --- max ---

template <int kInner>
void max_pool_2x2(const float* x, float* y, const PoolGeometry& g, int64_t begin, int64_t end) {
  const int64_t inner = kInner > 0 ? kInner : g.inner;
  for (int64_t row = begin; row < end; ++row) {
    const float* upper = x + 2 * row * g.width * g.x_pixel;
    const float* lower = upper + g.width * g.x_pixel;
    float* out = y + row * g.out_width * g.y_pixel;
    for (int64_t column = 0; column < g.out_width; ++column) {
      STOKER_IVDEP
      for (int64_t c = 0; c < inner; ++c) {
        float x0 = upper[c], x1 = upper[g.x_pixel + c], x2 = lower[c], x3 = lower[g.x_pixel + c];
        bool nan = __builtin_isunordered(x0, x1) | __builtin_isunordered(x2, x3);
        out[c] = nan ? __builtin_nanf("") : larger(larger(x0, x1), larger(x2, x3));
      }
      upper += 2 * g.x_pixel;
      lower += 2 * g.x_pixel;
      out += g.y_pixel;
    }
  }
}

void max_pool_any(const float* x, float* y, const PoolGeometry& g, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row)
    for (int64_t column = 0; column < g.out_width; ++column) {
      Range rows = rows_of(g, row), columns = columns_of(g, column);
      float* out = y + (row * g.out_width + column) * g.y_pixel;
      bool empty = rows.begin >= rows.end || columns.begin >= columns.end;
      const float* start = x + (rows.begin * g.width + columns.begin) * g.x_pixel;
      for (int64_t c = 0; c < g.inner; ++c) out[c] = empty ? -3.40282347e38F : start[c];
      for (int64_t h = rows.begin; h < rows.end; ++h)
        for (int64_t w = columns.begin; w < columns.end; ++w) {
          const float* in = x + (h * g.width + w) * g.x_pixel;
          STOKER_IVDEP
          for (int64_t c = 0; c < g.inner; ++c)  // once NaN, always NaN
            out[c] = ((out[c] >= in[c]) | (out[c] != out[c])) ? out[c] : in[c];
        }
    }
}

void max_pool(const float* x, float* y, const PoolGeometry& g, int64_t begin, int64_t end) {
  if (!is_two_by_two(g)) return max_pool_any(x, y, g, begin, end);
  if (g.inner == 16) return max_pool_2x2<16>(x, y, g, begin, end);
  if (g.inner == 8) return max_pool_2x2<8>(x, y, g, begin, end);
  max_pool_2x2<0>(x, y, g, begin, end);
}

// dx may be x: a window is read before it is written, and belongs to no other. The maximum is
// found anew, which is cheaper than reading it.
template <int kInner, bool kRelu>
void max_pool_grad_2x2(const float* x, const float* dy, float* dx, const PoolGeometry& g) {
  const int64_t inner = kInner > 0 ? kInner : g.inner, pixel = g.x_pixel,
                line = g.width * g.x_pixel;
  for (int64_t row = 0; row < g.out_height; ++row)
    for (int64_t column = 0; column < g.out_width; ++column) {
      int64_t at = 2 * (row * line + column * pixel);
      const float *in = x + at, *d = dy + (row * g.out_width + column) * g.y_pixel;
      float* out = dx + at;
      STOKER_IVDEP
      for (int64_t c = 0; c < inner; ++c) {
        float x0 = in[c], x1 = in[pixel + c], x2 = in[line + c], x3 = in[line + pixel + c];
        float most = larger(larger(x0, x1), larger(x2, x3));
        float grad = !kRelu || most > 0 ? d[c] : 0.0F;
        bool m0 = x0 == most, m1 = x1 == most, m2 = x2 == most, m3 = x3 == most;
        out[c] = m0 ? grad : 0.0F;
        out[pixel + c] = (m1 & !m0) ? grad : 0.0F;
        out[line + c] = (m2 & !(m0 | m1)) ? grad : 0.0F;
        out[line + pixel + c] = (m3 & !(m0 | m1 | m2)) ? grad : 0.0F;
      }
    }
  // A last row or column that no window reaches.
  for (int64_t row = 0; row < g.height; ++row)
    for (int64_t column = row < 2 * g.out_height ? 2 * g.out_width : 0; column < g.width; ++column)
      for (int64_t c = 0; c < inner; ++c) dx[row * line + column * pixel + c] = 0;
}

template <bool kRelu>
void grad_2x2(const float* x, const float* dy, float* dx, const PoolGeometry& g) {
  if (g.inner == 16) return max_pool_grad_2x2<16, kRelu>(x, dy, dx, g);
  if (g.inner == 8) return max_pool_grad_2x2<8, kRelu>(x, dy, dx, g);
  max_pool_grad_2x2<0, kRelu>(x, dy, dx, g);
}

void clear(float* dx, const PoolGeometry& g) {
  for (int64_t i = 0; i < g.height * g.width; ++i, dx += g.x_pixel)
    for (int64_t c = 0; c < g.inner; ++c) dx[c] = 0;
}

// A stretch of up to kLanes channels of one window.
constexpr int kLanes = 64;
void max_window_grad(const float* x, const float* dy, float* dx, const PoolGeometry& g, Range rows,
                     Range columns, int64_t lanes) {
  float most[kLanes];
  int32_t winner[kLanes], which = 0;
  for (int64_t c = 0; c < lanes; ++c) {
    most[c] = x[(rows.begin * g.width + columns.begin) * g.x_pixel + c];
    winner[c] = 0;
  }
  for (int64_t h = rows.begin; h < rows.end; ++h)
    for (int64_t w = columns.begin; w < columns.end; ++w, ++which) {
      const float* in = x + (h * g.width + w) * g.x_pixel;
      for (int64_t c = 0; c < lanes; ++c) {
        bool better = in[c] > most[c];
        most[c] = better ? in[c] : most[c];
        winner[c] = better ? which : winner[c];
      }
    }
  which = 0;
  for (int64_t h = rows.begin; h < rows.end; ++h)
    for (int64_t w = columns.begin; w < columns.end; ++w, ++which) {
      float* out = dx + (h * g.width + w) * g.x_pixel;
      for (int64_t c = 0; c < lanes; ++c) {
        bool wins = (winner[c] == which) & (!g.relu | (most[c] > 0));
        out[c] += wins ? dy[c] : 0.0F;
      }
    }
}

void max_pool_grad(const float* x, const float* dy, float* dx, const PoolGeometry& g) {
  if (is_two_by_two(g))
    return g.relu ? grad_2x2<true>(x, dy, dx, g) : grad_2x2<false>(x, dy, dx, g);
  clear(dx, g);
  for (int64_t row = 0; row < g.out_height; ++row)
    for (int64_t column = 0; column < g.out_width; ++column)
      for (int64_t c = 0; c < g.inner; c += kLanes)
        max_window_grad(x + c, dy + (row * g.out_width + column) * g.y_pixel + c, dx + c, g,
                        rows_of(g, row), columns_of(g, column),
                        g.inner - c < kLanes ? g.inner - c : kLanes);
}

// --- average ---

void avg_pool(const float* x, float* y, const PoolGeometry& g, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row)
    for (int64_t column = 0; column < g.out_width; ++column) {
      Range rows = rows_of(g, row), columns = columns_of(g, column);
      float* out = y + (row * g.out_width + column) * g.y_pixel;
      float scale = 1 / float((rows.end - rows.begin) * (columns.end - columns.begin));
      for (int64_t c0 = 0; c0 < g.inner; c0 += kLanes) {
        int64_t lanes = g.inner - c0 < kLanes ? g.inner - c0 : kLanes;
        float total[kLanes] = {};
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          float line[kLanes] = {};
          const float* in = x + (h * g.width + columns.begin) * g.x_pixel + c0;
          for (int64_t w = columns.begin; w < columns.end; ++w, in += g.x_pixel)
            for (int64_t c = 0; c < lanes; ++c) line[c] += in[c];
          for (int64_t c = 0; c < lanes; ++c) total[c] += line[c];
        }
        for (int64_t c = 0; c < lanes; ++c) out[c0 + c] = total[c] * scale;
      }
    }
}

void avg_pool_grad(const float* dy, float* dx, const PoolGeometry& g) {
  clear(dx, g);
  for (int64_t row = 0; row < g.out_height; ++row)
    for (int64_t column = 0; column < g.out_width; ++column) {
      Range rows = rows_of(g, row), columns = columns_of(g, column);
      const float* d = dy + (row * g.out_width + column) * g.y_pixel;
      float scale = 1 / float((rows.end - rows.begin) * (columns.end - columns.begin));
      for (int64_t h = rows.begin; h < rows.end; ++h)
        for (int64_t w = columns.begin; w < columns.end; ++w) {
          float* out = dx + (h * g.width + w) * g.x_pixel;
          STOKER_IVDEP
          for (int64_t c = 0; c < g.inner; ++c) out[c] = fma(d[c], scale, out[c]);
        }
    }
}

}  // namespace

void add_pooling(KernelTable& table) {
  table.max_pool = max_pool;
  table.max_pool_grad = max_pool_grad;
  table.avg_pool = avg_pool;
  table.avg_pool_grad = avg_pool_grad;
}

}  // namespace stoker::cpu::STOKER_ISA
