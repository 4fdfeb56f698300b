// Layer norm on rows [rows, n]; batch norm on blocks of channels.
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/math.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

void layer_norm(const float* x, const float* gamma, const float* beta, float* y, float* mean,
                float* rstd, int64_t rows, int64_t n, float epsilon) {
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    float m = sum / float(n);
    for (int64_t i = 0; i < n; ++i) squares += (x[i] - m) * (x[i] - m);
    float r = 1 / sqrt(squares / float(n) + epsilon);
    for (int64_t i = 0; i < n; ++i) y[i] = fma((x[i] - m) * r, gamma[i], beta[i]);
    mean[row] = m;
    rstd[row] = r;
  }
}

// With g = dy · gamma and h = (x - mean) · rstd: dx = rstd · (g - mean(g) - h · mean(g · h)).
void layer_norm_grad(const float* dy, const float* x, const float* gamma, const float* mean,
                     const float* rstd, float* dx, float* dgamma, float* dbeta, int64_t rows,
                     int64_t n) {
  for (int64_t row = 0; row < rows; ++row, dy += n, x += n, dx += n) {
    float m = mean[row], r = rstd[row], sum = 0, product = 0;
    for (int64_t i = 0; i < n; ++i) {
      float g = dy[i] * gamma[i];
      sum += g;
      product += g * (x[i] - m);
    }
    float a = sum / float(n), b = product * r * r / float(n);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      float d = dy[i], centred = x[i] - m;
      dgamma[i] += d * centred * r;
      dbeta[i] += d;
      dx[i] = r * (d * gamma[i] - a - centred * b);
    }
  }
}

// --- batch norm ---
// kInner is the number of channels a pixel when it is known (8 or 16: layouts in blocks), or 0.
// With it the sums of one pixel stay in registers, over four pixels at a time to hide the adders'
// latency.

constexpr int64_t kPixels = 64;  // that many are added in float before the sums go on in double

template <int kInner>
void channel_sums_of(const float* x, ChannelBlock block, const float* shift, double* sum,
                     double* squares) {
  const int64_t inner = kInner > 0 ? kInner : block.inner;
  constexpr int kWidth = kInner > 0 ? kInner : int(KernelTable::kColumns);
  constexpr int kWays = kInner > 0 ? 4 : 1;
  for (int64_t first = 0; first < block.pixels; first += kPixels) {
    int64_t last = first + kPixels < block.pixels ? first + kPixels : block.pixels;
    float s[kWays][kWidth], q[kWays][kWidth];
    for (int w = 0; w < kWays; ++w)
      for (int64_t c = 0; c < inner; ++c) s[w][c] = q[w][c] = 0;
    int64_t pixel = first;
    for (; pixel + kWays <= last; pixel += kWays)
      for (int w = 0; w < kWays; ++w)
        for (int64_t c = 0; c < inner; ++c) {
          float d = x[(pixel + w) * block.stride + c] - shift[c];
          s[w][c] += d;
          q[w][c] = fma(d, d, q[w][c]);
        }
    for (; pixel < last; ++pixel)
      for (int64_t c = 0; c < inner; ++c) {
        float d = x[pixel * block.stride + c] - shift[c];
        s[0][c] += d;
        q[0][c] = fma(d, d, q[0][c]);
      }
    for (int w = 0; w < kWays; ++w)
      for (int64_t c = 0; c < inner; ++c) {
        sum[c] += double(s[w][c]);
        squares[c] += double(q[w][c]);
      }
  }
}

template <int kInner>
void channel_affine_of(const float* x, float* y, ChannelBlock block, const float* mean,
                       const float* scale, const float* offset, bool relu) {
  const int64_t inner = kInner > 0 ? kInner : block.inner;
  float floor = relu ? 0.0F : -__builtin_inff();
  for (int64_t pixel = 0; pixel < block.pixels; ++pixel, x += block.stride, y += block.stride)
#pragma GCC ivdep
    for (int64_t c = 0; c < inner; ++c) {
      float v = fma(x[c] - mean[c], scale[c], offset[c]);
      y[c] = v < floor ? floor : v;
    }
}

template <int kInner, bool kMasked>
void channel_grad_sums_of(const float* x, const float* dy, const float* y, ChannelBlock block,
                          const float* mean, double* sum, double* product) {
  const int64_t inner = kInner > 0 ? kInner : block.inner;
  constexpr int kWidth = kInner > 0 ? kInner : int(KernelTable::kColumns);
  constexpr int kWays = kInner > 0 ? 4 : 1;
  for (int64_t first = 0; first < block.pixels; first += kPixels) {
    int64_t last = first + kPixels < block.pixels ? first + kPixels : block.pixels;
    float s[kWays][kWidth], q[kWays][kWidth];
    for (int w = 0; w < kWays; ++w)
      for (int64_t c = 0; c < inner; ++c) s[w][c] = q[w][c] = 0;
    int64_t pixel = first;
    for (; pixel + kWays <= last; pixel += kWays)
      for (int w = 0; w < kWays; ++w)
        for (int64_t c = 0; c < inner; ++c) {
          int64_t at = (pixel + w) * block.stride + c;
          float d = kMasked && !(y[at] > 0) ? 0.0F : dy[at];
          s[w][c] += d;
          q[w][c] = fma(d, x[at] - mean[c], q[w][c]);
        }
    for (; pixel < last; ++pixel)
      for (int64_t c = 0; c < inner; ++c) {
        int64_t at = pixel * block.stride + c;
        float d = kMasked && !(y[at] > 0) ? 0.0F : dy[at];
        s[0][c] += d;
        q[0][c] = fma(d, x[at] - mean[c], q[0][c]);
      }
    for (int w = 0; w < kWays; ++w)
      for (int64_t c = 0; c < inner; ++c) {
        sum[c] += double(s[w][c]);
        product[c] += double(q[w][c]);
      }
  }
}

template <int kInner, bool kMasked>
void channel_grad_of(const float* x, const float* dy, const float* y, float* dx, ChannelBlock block,
                     const float* mean, const float* a, const float* b, const float* offset) {
  const int64_t inner = kInner > 0 ? kInner : block.inner;
  for (int64_t pixel = 0; pixel < block.pixels; ++pixel) {
    int64_t at = pixel * block.stride;
#pragma GCC ivdep
    for (int64_t c = 0; c < inner; ++c) {
      float d = kMasked && !(y[at + c] > 0) ? 0.0F : dy[at + c];
      dx[at + c] = fma(a[c], d, fma(b[c], x[at + c] - mean[c], offset[c]));
    }
  }
}

void channel_sums(const float* x, ChannelBlock block, const float* shift, double* sum,
                  double* squares) {
  if (block.inner == 16) return channel_sums_of<16>(x, block, shift, sum, squares);
  if (block.inner == 8) return channel_sums_of<8>(x, block, shift, sum, squares);
  channel_sums_of<0>(x, block, shift, sum, squares);
}

void channel_affine(const float* x, float* y, ChannelBlock block, const float* mean,
                    const float* scale, const float* offset, bool relu) {
  if (block.inner == 16) return channel_affine_of<16>(x, y, block, mean, scale, offset, relu);
  if (block.inner == 8) return channel_affine_of<8>(x, y, block, mean, scale, offset, relu);
  channel_affine_of<0>(x, y, block, mean, scale, offset, relu);
}

template <bool kMasked>
void grad_sums(const float* x, const float* dy, const float* y, ChannelBlock block,
               const float* mean, double* sum, double* product) {
  if (block.inner == 16)
    return channel_grad_sums_of<16, kMasked>(x, dy, y, block, mean, sum, product);
  if (block.inner == 8)
    return channel_grad_sums_of<8, kMasked>(x, dy, y, block, mean, sum, product);
  channel_grad_sums_of<0, kMasked>(x, dy, y, block, mean, sum, product);
}

void channel_grad_sums(const float* x, const float* dy, const float* y, ChannelBlock block,
                       const float* mean, double* sum, double* product) {
  if (y != nullptr) return grad_sums<true>(x, dy, y, block, mean, sum, product);
  grad_sums<false>(x, dy, y, block, mean, sum, product);
}

template <bool kMasked>
void grad(const float* x, const float* dy, const float* y, float* dx, ChannelBlock block,
          const float* mean, const float* a, const float* b, const float* c) {
  if (block.inner == 16) return channel_grad_of<16, kMasked>(x, dy, y, dx, block, mean, a, b, c);
  if (block.inner == 8) return channel_grad_of<8, kMasked>(x, dy, y, dx, block, mean, a, b, c);
  channel_grad_of<0, kMasked>(x, dy, y, dx, block, mean, a, b, c);
}

void channel_grad(const float* x, const float* dy, const float* y, float* dx, ChannelBlock block,
                  const float* mean, const float* a, const float* b, const float* c) {
  if (y != nullptr) return grad<true>(x, dy, y, dx, block, mean, a, b, c);
  grad<false>(x, dy, y, dx, block, mean, a, b, c);
}

}  // namespace

void add_normalization(KernelTable& table) {
  table.layer_norm = layer_norm;
  table.layer_norm_grad = layer_norm_grad;
  table.channel_sums = channel_sums;
  table.channel_affine = channel_affine;
  table.channel_grad_sums = channel_grad_sums;
  table.channel_grad = channel_grad;
}

}  // namespace stoker::cpu::STOKER_ISA
