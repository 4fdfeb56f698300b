// Lines of pixels backwards: flips without a resize.
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "data/image/isa/families.h"

namespace stoker::image::STOKER_ISA {
namespace {

template <class T>
void reverse_rest(const T* line, int64_t pixels, int64_t channels, int64_t from, T* out) {
  for (int64_t x = from; x < pixels; ++x)
    for (int64_t channel = 0; channel < channels; ++channel)
      out[x * channels + channel] = line[(pixels - 1 - x) * channels + channel];
}

#ifdef __AVX2__

// As many whole pixels as fit into 16 bytes at a time. For three channels that is 15 bytes: the
// load begins one byte early, and the last byte stored is written again by the next store.
template <int C>
int64_t reverse_vectors(const uint8_t* line, int64_t pixels, uint8_t* out) {
  constexpr int kPixels = 16 / C, kSpare = 16 - kPixels * C;
  alignas(16) int8_t index[16];
  for (int i = 0; i < 16; ++i)
    index[i] = i < kPixels * C ? int8_t(kSpare + (kPixels - 1 - i / C) * C + i % C) : int8_t(-1);
  const __m128i order = _mm_load_si128((const __m128i*)index);
  int64_t x = 0;
  for (; (pixels - x - kPixels) * C >= kSpare && x * C + 16 <= pixels * C; x += kPixels) {
    const uint8_t* from = line + (pixels - x - kPixels) * C - kSpare;
    __m128i v = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i*)from), order);
    _mm_storeu_si128((__m128i*)(out + x * C), v);
  }
  return x;
}

#endif

void reverse_u8(const uint8_t* line, int64_t pixels, int64_t channels, uint8_t* out) {
  int64_t done = 0;
#ifdef __AVX2__
  if (channels == 1) done = reverse_vectors<1>(line, pixels, out);
  if (channels == 3) done = reverse_vectors<3>(line, pixels, out);
  if (channels == 4) done = reverse_vectors<4>(line, pixels, out);
#endif
  reverse_rest(line, pixels, channels, done, out);
}

void reverse_f32(const float* line, int64_t pixels, int64_t channels, float* out) {
  reverse_rest(line, pixels, channels, 0, out);
}

}  // namespace

void add_reverse(Kernels& table) {
  table.reverse_u8 = reverse_u8;
  table.reverse_f32 = reverse_f32;
}

}  // namespace stoker::image::STOKER_ISA
