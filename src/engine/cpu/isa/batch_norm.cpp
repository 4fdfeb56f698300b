// Batch norm on blocks of channels. Vectors of channels are walked one after the other, each over
// 64 pixels whose sums stay in registers; channels that fill no vector are left to the compiler.
#include "base/ivdep.h"
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/vector.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

constexpr int64_t kPixels = 64;  // that many are added in float before the sums go on in double
constexpr int kWays = 4;         // pixels at a time, to hide the adders' latency

int64_t whole_vectors(int64_t channels) { return channels / kLanes * kLanes; }

STOKER_INLINE void add_to(double* total, const Vector (&parts)[kWays]) {
  Vector sum = (parts[0] + parts[1]) + (parts[2] + parts[3]);
  for (int lane = 0; lane < kLanes; ++lane) total[lane] += double(sum[lane]);
}

// first += Σ d and second += Σ d · e of one vector of channels; term(pixel, d, e) gives them.
template <class Term>
STOKER_INLINE void sum_vector(int64_t pixels, const Term& term, double* first, double* second) {
  for (int64_t begin = 0; begin < pixels; begin += kPixels) {
    int64_t end = begin + kPixels < pixels ? begin + kPixels : pixels, pixel = begin;
    Vector s[kWays] = {}, q[kWays] = {}, d, e;
    for (; pixel + kWays <= end; pixel += kWays)
#pragma GCC unroll 4
      for (int w = 0; w < kWays; ++w) {
        term(pixel + w, d, e);
        s[w] += d;
        q[w] = multiply_add(d, e, q[w]);
      }
    for (; pixel < end; ++pixel) {
      term(pixel, d, e);
      s[0] += d;
      q[0] = multiply_add(d, e, q[0]);
    }
    add_to(first, s);
    add_to(second, q);
  }
}

// The same for the channels [begin, inner); term(pixel, channel, d, e).
template <class Term>
STOKER_INLINE void sum_rest(int64_t pixels, int64_t begin, int64_t inner, const Term& term,
                            double* first, double* second) {
  for (int64_t start = 0; start < pixels && begin < inner; start += kPixels) {
    int64_t end = start + kPixels < pixels ? start + kPixels : pixels;
    float s[kLanes] = {}, q[kLanes] = {}, d, e;
    for (int64_t pixel = start; pixel < end; ++pixel)
      for (int64_t c = begin; c < inner; ++c) {
        term(pixel, c, d, e);
        s[c - begin] += d;
        q[c - begin] = fma(d, e, q[c - begin]);
      }
    for (int64_t c = begin; c < inner; ++c) {
      first[c] += double(s[c - begin]);
      second[c] += double(q[c - begin]);
    }
  }
}

// The gradient where relu let its input through. dy is read in any case: without AVX-512's masked
// loads GCC makes a branch of a load that depends on y, which is 9 times slower.
template <bool kMasked>
STOKER_INLINE float kept(float dy, const float* y, int64_t at) {
  if constexpr (!kMasked) return dy;
  return y[at] > 0 ? dy : 0.0F;
}
template <bool kMasked>
STOKER_INLINE Vector kept_vector(const float* dy, const float* y, int64_t at) {
  Vector d = load<Vector>(dy + at);
  if constexpr (!kMasked) return d;
  return load<Vector>(y + at) > Vector{} ? d : Vector{};
}

void channel_sums(const float* x, ChannelBlock block, const float* shift, double* sum,
                  double* squares) {
  int64_t whole = whole_vectors(block.inner);
  for (int64_t c = 0; c < whole; c += kLanes) {
    Vector from = load<Vector>(shift + c);
    sum_vector(
        block.pixels,
        [&](int64_t pixel, Vector& d, Vector& e) {
          d = e = load<Vector>(x + pixel * block.stride + c) - from;
        },
        sum + c, squares + c);
  }
  sum_rest(
      block.pixels, whole, block.inner,
      [&](int64_t pixel, int64_t c, float& d, float& e) {
        d = e = x[pixel * block.stride + c] - shift[c];
      },
      sum, squares);
}

void channel_affine(const float* x, float* y, ChannelBlock block, const float* mean,
                    const float* scale, const float* offset, bool relu) {
  float floor = relu ? 0.0F : -__builtin_inff();
  int64_t whole = whole_vectors(block.inner);
  for (int64_t c = 0; c < whole; c += kLanes) {
    Vector m = load<Vector>(mean + c), a = load<Vector>(scale + c), b = load<Vector>(offset + c),
           least = Vector{} + floor;
    for (int64_t pixel = 0; pixel < block.pixels; ++pixel) {
      Vector v = multiply_add(load<Vector>(x + pixel * block.stride + c) - m, a, b);
      store(y + pixel * block.stride + c, v < least ? least : v);
    }
  }
  for (int64_t pixel = 0; pixel < block.pixels && whole < block.inner; ++pixel) {
    STOKER_IVDEP
    for (int64_t c = whole; c < block.inner; ++c) {
      float v = fma(x[pixel * block.stride + c] - mean[c], scale[c], offset[c]);
      y[pixel * block.stride + c] = v < floor ? floor : v;
    }
  }
}

template <bool kMasked>
void grad_sums(const float* x, const float* dy, const float* y, ChannelBlock block,
               const float* mean, double* sum, double* product) {
  int64_t whole = whole_vectors(block.inner);
  for (int64_t c = 0; c < whole; c += kLanes) {
    Vector m = load<Vector>(mean + c);
    sum_vector(
        block.pixels,
        [&](int64_t pixel, Vector& d, Vector& e) {
          int64_t at = pixel * block.stride + c;
          d = kept_vector<kMasked>(dy, y, at);
          e = load<Vector>(x + at) - m;
        },
        sum + c, product + c);
  }
  sum_rest(
      block.pixels, whole, block.inner,
      [&](int64_t pixel, int64_t c, float& d, float& e) {
        int64_t at = pixel * block.stride + c;
        d = kept<kMasked>(dy[at], y, at);
        e = x[at] - mean[c];
      },
      sum, product);
}

void channel_grad_sums(const float* x, const float* dy, const float* y, ChannelBlock block,
                       const float* mean, double* sum, double* product) {
  if (y != nullptr) return grad_sums<true>(x, dy, y, block, mean, sum, product);
  grad_sums<false>(x, dy, y, block, mean, sum, product);
}

template <bool kMasked>
void grad(const float* x, const float* dy, const float* y, float* dx, ChannelBlock block,
          const float* mean, const float* a, const float* b, const float* offset) {
  int64_t whole = whole_vectors(block.inner);
  for (int64_t c = 0; c < whole; c += kLanes) {
    Vector m = load<Vector>(mean + c), factor = load<Vector>(a + c), slope = load<Vector>(b + c),
           o = load<Vector>(offset + c);
    for (int64_t pixel = 0; pixel < block.pixels; ++pixel) {
      int64_t at = pixel * block.stride + c;
      Vector inner = multiply_add(slope, load<Vector>(x + at) - m, o);
      store(dx + at, multiply_add(factor, kept_vector<kMasked>(dy, y, at), inner));
    }
  }
  for (int64_t pixel = 0; pixel < block.pixels && whole < block.inner; ++pixel) {
    STOKER_IVDEP
    for (int64_t c = whole; c < block.inner; ++c) {
      int64_t at = pixel * block.stride + c;
      float d = kept<kMasked>(dy[at], y, at);
      dx[at] = fma(a[c], d, fma(b[c], x[at] - mean[c], offset[c]));
    }
  }
}

void channel_grad(const float* x, const float* dy, const float* y, float* dx, ChannelBlock block,
                  const float* mean, const float* a, const float* b, const float* c) {
  if (y != nullptr) return grad<true>(x, dy, y, dx, block, mean, a, b, c);
  grad<false>(x, dy, y, dx, block, mean, a, b, c);
}

}  // namespace

void add_batch_norm(KernelTable& table) {
  table.channel_sums = channel_sums;
  table.channel_affine = channel_affine;
  table.channel_grad_sums = channel_grad_sums;
  table.channel_grad = channel_grad;
}

}  // namespace stoker::cpu::STOKER_ISA
