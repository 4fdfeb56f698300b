// The horizontal half of a resize: weighted sums of neighbouring pixels of one line.
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "data/image/isa/families.h"

namespace stoker::image::STOKER_ISA {
namespace {

constexpr int kHalf = 1 << (kWeightBits - 1);

uint8_t mix_value(const uint8_t* first, const int16_t* weights, int64_t groups, int64_t channels) {
  int32_t sum = kHalf;
  for (int64_t group = 0; group < groups; ++group) {
    const uint8_t* p = first + group * 4 * channels;
    const int16_t* w = weights + group * 16;
    sum += w[0] * p[0] + w[1] * p[channels] + w[8] * p[2 * channels] + w[9] * p[3 * channels];
  }
  return uint8_t(sum >> kWeightBits);
}

void mix_pixels(const uint8_t* line, const ColumnTaps& taps, int64_t channels, int64_t from,
                uint8_t* out) {
  for (int64_t x = from; x < taps.outputs; ++x)
    for (int64_t channel = 0; channel < channels; ++channel)
      out[x * channels + channel] =
          mix_value(line + taps.first[x] * channels + channel, taps.weights + x * taps.groups * 16,
                    taps.groups, channels);
}

#ifdef __AVX2__

// Byte `index` of four pixels of C channels as the 16-bit operands of pmaddwd: in the lower half
// pixels 0 and 1, in the upper one pixels 2 and 3, side by side for each channel.
template <int C>
__m256i pair_up() {
  alignas(32) int8_t index[32];
  for (int half = 0; half < 2; ++half)
    for (int channel = 0; channel < 4; ++channel)
      for (int pixel = 0; pixel < 2; ++pixel) {
        int8_t* at = index + half * 16 + channel * 4 + pixel * 2;
        at[0] = channel < C ? int8_t((half * 2 + pixel) * C + channel) : int8_t(-1);
        at[1] = -1;
      }
  return _mm256_load_si256((const __m256i*)index);
}

// Takes C bytes of every four.
template <int C>
__m128i compress() {
  alignas(16) int8_t index[16];
  for (int i = 0; i < 16; ++i) index[i] = i < 4 * C ? int8_t(i / C * 4 + i % C) : int8_t(-1);
  return _mm_load_si128((const __m128i*)index);
}

inline __m256i products(const uint8_t* pixels, __m256i pairs, const int16_t* weights) {
  __m256i four = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)pixels));
  __m256i w = _mm256_loadu_si256((const __m256i*)weights);
  return _mm256_madd_epi16(_mm256_shuffle_epi8(four, pairs), w);
}

// The channels of one output pixel as four 32-bit sums. G groups, or `groups` of them when G is 0.
template <int C, int G>
inline __m128i mix_pixel(const uint8_t* first, __m256i pairs, const int16_t* weights,
                         int64_t groups) {
  const int64_t count = G != 0 ? G : groups;
  __m256i sum = products(first, pairs, weights);
  for (int64_t group = 1; group < count; ++group)
    sum = _mm256_add_epi32(sum, products(first + group * 4 * C, pairs, weights + group * 16));
  __m128i all = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  return _mm_srai_epi32(_mm_add_epi32(all, _mm_set1_epi32(kHalf)), kWeightBits);
}

template <int C, int G>
void mix_line(const uint8_t* line, const ColumnTaps& taps, uint8_t* out) {
  const __m256i pairs = pair_up<C>();
  const __m128i packing = compress<C>();
  const int64_t step = taps.groups * 16, values = taps.outputs * C;
  int64_t x = 0;
  for (; x + 4 <= taps.outputs; x += 4) {
    const int16_t* w = taps.weights + x * step;
    __m128i pixel[4];
    for (int k = 0; k < 4; ++k)
      pixel[k] =
          mix_pixel<C, G>(line + int64_t(taps.first[x + k]) * C, pairs, w + k * step, taps.groups);
    __m128i bytes =
        _mm_packus_epi16(_mm_packs_epi32(pixel[0], pixel[1]), _mm_packs_epi32(pixel[2], pixel[3]));
    bytes = _mm_shuffle_epi8(bytes, packing);
    if (x * C + 16 <= values)
      _mm_storeu_si128((__m128i*)(out + x * C), bytes);
    else
      __builtin_memcpy(out + x * C, &bytes, size_t(4 * C));
  }
  mix_pixels(line, taps, C, x, out);
}

template <int C>
void mix_channels(const uint8_t* line, const ColumnTaps& taps, uint8_t* out) {
  switch (taps.groups) {
    case 1:
      return mix_line<C, 1>(line, taps, out);
    case 2:
      return mix_line<C, 2>(line, taps, out);
    default:
      return mix_line<C, 0>(line, taps, out);
  }
}

#endif

void mix_columns_u8(const uint8_t* line, const ColumnTaps& taps, int64_t channels, uint8_t* out) {
#ifdef __AVX2__
  switch (channels) {
    case 1:
      return mix_channels<1>(line, taps, out);
    case 2:
      return mix_channels<2>(line, taps, out);
    case 3:
      return mix_channels<3>(line, taps, out);
    case 4:
      return mix_channels<4>(line, taps, out);
    default:
      break;
  }
#endif
  mix_pixels(line, taps, channels, 0, out);
}

template <int C>
void mix_floats(const float* line, const FloatTaps& taps, int64_t any, float* __restrict out) {
  const int64_t channels = C != 0 ? C : any;
  for (int64_t x = 0; x < taps.outputs; ++x) {
    const float* first = line + taps.first[x] * channels;
    const float* weights = taps.weights + x * taps.stride;
    float* pixel = out + x * channels;
    for (int64_t c = 0; c < channels; ++c) pixel[c] = first[c] * weights[0];
    for (int64_t tap = 1; tap < taps.count[x]; ++tap)
      for (int64_t c = 0; c < channels; ++c) pixel[c] += first[tap * channels + c] * weights[tap];
  }
}

void mix_columns_f32(const float* line, const FloatTaps& taps, int64_t channels, float* out) {
  switch (channels) {
    case 1:
      return mix_floats<1>(line, taps, channels, out);
    case 3:
      return mix_floats<3>(line, taps, channels, out);
    case 4:
      return mix_floats<4>(line, taps, channels, out);
    default:
      return mix_floats<0>(line, taps, channels, out);
  }
}

}  // namespace

void add_mix_columns(Kernels& table) {
  table.mix_columns_u8 = mix_columns_u8;
  table.mix_columns_f32 = mix_columns_f32;
}

}  // namespace stoker::image::STOKER_ISA
