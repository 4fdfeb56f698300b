// What becomes of a pixel (base/augment.h): every pixel of the result from the source, and, for some
// kinds, from statistics of the whole source by channel.
#pragma once

#include "base/augment.h"
#include "base/convert.h"

namespace stoker::augment {

template <class T>
struct Picture {
  const T* data = nullptr;  // [height, width, channels]
  int32_t height = 0, width = 0, channels = 0;

  STOKER_HD T at(int32_t y, int32_t x, int32_t channel) const {
    return data[(int64_t(y) * width + x) * channels + channel];
  }
};

inline constexpr int kMostBins = 256;

// How many numbers per channel the statistics are.
STOKER_HD inline int statistics_per_channel(Kind kind) {
  if (kind == Kind::contrast) return 1;
  if (kind == Kind::auto_contrast) return 2;
  return kind == Kind::equalization ? kMostBins : 0;
}

template <class T>
STOKER_HD T clipped(T value, T low, T high) {
  return value < low ? low : value > high ? high : value;
}
// Towards zero; NaN is 0, and beyond the limits of the integer are its limits: no pixel may choose a
// place outside a table. A GPU's conversion of float to int does so itself.
template <class To, class From>
STOKER_HD To whole(From value) {
#ifdef __CUDA_ARCH__
  return To(value);
#else
  return convert<To>(value);
#endif
}
// From the value range to 0 … 255, and back.
template <class T>
STOKER_HD T to_bytes(const Drawn& d, T value) {
  return (value - T(d.low)) / (T(d.high) - T(d.low)) * T(255);
}
template <class T>
STOKER_HD T from_bytes(const Drawn& d, T value) {
  return value / T(255) * (T(d.high) - T(d.low)) + T(d.low);
}

// --- geometry ------------------------------------------------------------------------------------

// A position on an axis of this length, inside of it where the mode says so.
STOKER_HD inline float inside(float at, int32_t length, Fill fill) {
  float last = float(length - 1);
  if (fill == Fill::constant) return at;
  if (fill == Fill::nearest) return clipped(at, 0.0F, last);
  if (length <= 1) return 0;
  float period = fill == Fill::reflect ? 2 * float(length) : last;
  if (fill == Fill::reflect) {
    if (at < 0) {
      if (at < period) at = period * float(whole<int64_t>(-at / period)) + at;
      at = at < -float(length) ? at + period : -at - 1;
    } else if (at > last) {
      at -= period * float(whole<int64_t>(at / period));
      if (at >= float(length)) at = period - at - 1;
    }
  } else if (at < 0) {
    at += float(length) * float(int64_t(uint64_t(whole<int64_t>(-at / period)) + 1));
  } else if (at > last) {
    at -= float(length) * float(whole<int64_t>(at / period));
  }
  return clipped(at, 0.0F, last);
}

template <class T>
STOKER_HD T or_fill(const Drawn& d, const Picture<T>& from, float y, float x, int32_t channel) {
  if (!(y >= 0 && y < float(from.height) && x >= 0 && x < float(from.width)))
    return T(d.fill_value);
  return from.at(int32_t(y), int32_t(x), channel);
}

template <class T>
STOKER_HD void warped(const Drawn& d, const Picture<T>& from, int32_t y, int32_t x, T* to) {
  const float* m = d.m;
  float column = float(x), row = float(y), depth = m[6] * column + m[7] * row + 1;
  float at_x = (m[0] * column + m[1] * row + m[2]) / depth;
  float at_y = (m[3] * column + m[4] * row + m[5]) / depth;
  at_x = inside(at_x, from.width, d.fill);
  at_y = inside(at_y, from.height, d.fill);
  for (int32_t c = 0; c < from.channels; ++c) {
    if (depth == 0 || !(fabsf(at_x) < 1e9F && fabsf(at_y) < 1e9F)) {
      to[c] = T(d.fill_value);
    } else if (d.bilinear == 0) {
      to[c] = or_fill(d, from, roundf(at_y), roundf(at_x), c);
    } else {
      float left = floorf(at_x), top = floorf(at_y), right = left + 1, bottom = top + 1;
      T upper = T(right - at_x) * or_fill(d, from, top, left, c) +
                T(at_x - left) * or_fill(d, from, top, right, c);
      T lower = T(right - at_x) * or_fill(d, from, bottom, left, c) +
                T(at_x - left) * or_fill(d, from, bottom, right, c);
      to[c] = T(bottom - at_y) * upper + T(at_y - top) * lower;
    }
  }
}

// --- colour, three channels ----------------------------------------------------------------------

template <class T>
STOKER_HD void to_hsv(const T* rgb, T* hsv) {
  T most = rgb[0] > rgb[1] ? rgb[0] : rgb[1], least = rgb[0] < rgb[1] ? rgb[0] : rgb[1];
  most = rgb[2] > most ? rgb[2] : most;
  least = rgb[2] < least ? rgb[2] : least;
  T range = most - least, norm = range > 0 ? 1 / (6 * range) : T(0), hue = 0;
  if (rgb[0] == most)
    hue = norm * (rgb[1] - rgb[2]);
  else if (rgb[1] == most)
    hue = norm * (rgb[2] - rgb[0]) + T(2) / 6;
  else
    hue = norm * (rgb[0] - rgb[1]) + T(4) / 6;
  if (range <= 0) hue = 0;
  hsv[0] = hue < 0 ? hue + 1 : hue;
  hsv[1] = most > 0 ? range / most : T(0);
  hsv[2] = most;
}

template <class T>
STOKER_HD void to_rgb(const T* hsv, T* rgb) {
  T place = hsv[0] * 6, share[3];
  share[0] = clipped(T(fabs(place - 3)) - 1, T(0), T(1));
  share[1] = clipped(2 - T(fabs(place - 2)), T(0), T(1));
  share[2] = clipped(2 - T(fabs(place - 4)), T(0), T(1));
  for (int c = 0; c < 3; ++c) rgb[c] = (1 - hsv[1] + hsv[1] * share[c]) * hsv[2];
}

template <class T>
STOKER_HD T gray(const T* rgb) {
  return rgb[0] * T(0.2989) + rgb[1] * T(0.5870) + rgb[2] * T(0.1140);
}

template <class T>
STOKER_HD void recoloured(const Drawn& d, const T* rgb, T* to) {
  T hsv[3], scaled[3];
  if (d.kind == Kind::hue) {
    for (int c = 0; c < 3; ++c) scaled[c] = (rgb[c] - T(d.low)) / (T(d.high) - T(d.low));
    to_hsv(scaled, hsv);
    T hue = hsv[0] + T(d.m[0]);
    hsv[0] = hue > 1 ? hue - 1 : hue < 0 ? hue + 1 : hue;
    to_rgb(hsv, scaled);
    for (int c = 0; c < 3; ++c)
      to[c] = clipped(scaled[c], T(0), T(1)) * (T(d.high) - T(d.low)) + T(d.low);
  } else if (d.kind == Kind::saturation) {
    to_hsv(rgb, hsv);
    hsv[1] = clipped(hsv[1] * T(d.m[0]), T(d.low), T(d.high));
    to_rgb(hsv, to);
  } else {  // degeneration, grayscale
    T level = gray(rgb);
    for (int c = 0; c < 3; ++c)
      to[c] = d.kind == Kind::grayscale
                  ? level
                  : clipped(rgb[c] + T(d.m[0]) * (level - rgb[c]), T(d.low), T(d.high));
  }
}

// --- one value -----------------------------------------------------------------------------------

// A number of mean 0 and deviation 1 for an element of the sample.
STOKER_HD inline float normal(const Key& key, uint64_t element) {
  PhiloxBlock block = random_block(key.seed, key.stream, (key.sample + 1) << 40 | element);
  float u = (float(block[0] >> 8) + 1) * 0x1p-24F, v = float(block[1] >> 8) * 0x1p-24F;
  return sqrtf(-2 * logf(u)) * cosf(6.283185307F * v);
}

template <class T>
STOKER_HD T changed(const Drawn& d, const T* statistics, T value, int32_t channel) {
  const T* own = statistics + channel * statistics_per_channel(d.kind);
  T low = T(d.low), high = T(d.high);
  switch (d.kind) {
    case Kind::brightness:
      return clipped(value + T(d.m[0]), low, high);
    case Kind::contrast:
      return clipped((value - own[0]) * T(d.m[0]) + own[0], low, high);
    case Kind::invert:
      return high - value;
    case Kind::posterization: {
      int shift = int(d.m[0]);
      return from_bytes(d, T(whole<int>(to_bytes(d, value)) >> shift << shift));
    }
    case Kind::solarization: {
      T brighter = clipped(to_bytes(d, value) + T(d.m[0]), T(0), T(255));
      return from_bytes(d, brighter < T(d.m[1]) ? brighter : 255 - brighter);
    }
    case Kind::auto_contrast: {
      T scale = 255 / (own[1] - own[0]);
      if (!(own[1] > own[0])) return value;
      return from_bytes(d, clipped(to_bytes(d, value) * scale - own[0] * scale, T(0), T(255)));
    }
    case Kind::equalization: {
      T place = clipped(to_bytes(d, value) / 255 * (T(d.m[0]) - 1), T(0), T(d.m[0]) - 1);
      T level = own[whole<int>(place)];
      return level < 0 ? value : from_bytes(d, level);
    }
    default:
      return value;
  }
}

// --- neighbourhoods, zeros around ----------------------------------------------------------------

template <class T>
STOKER_HD T or_zero(const Picture<T>& from, int32_t y, int32_t x, int32_t channel) {
  bool there = y >= 0 && y < from.height && x >= 0 && x < from.width;
  return there ? from.at(y, x, channel) : T(0);
}

template <class T>
STOKER_HD T gaussian(int32_t offset, int32_t size, float sigma) {
  T place = (T(offset) - T(size - 1) / 2) / T(sigma);
  return T(exp(T(-0.5) * place * place));
}

template <class T>
STOKER_HD T blurred(const Drawn& d, const Picture<T>& from, int32_t y, int32_t x, int32_t channel) {
  auto rows = int32_t(d.m[2]), columns = int32_t(d.m[3]);
  T sum = 0, across = 0, down = 0;
  for (int32_t column = 0; column < columns; ++column)
    across += gaussian<T>(column, columns, d.m[0]);
  for (int32_t row = 0; row < rows; ++row) {
    T weight = gaussian<T>(row, rows, d.m[1]), part = 0;
    down += weight;
    for (int32_t column = 0; column < columns; ++column)
      part += gaussian<T>(column, columns, d.m[0]) *
              or_zero(from, y + row - (rows - 1) / 2, x + column - (columns - 1) / 2, channel);
    sum += weight * part;
  }
  return clipped(sum / (across * down), T(d.low), T(d.high));
}

template <class T>
STOKER_HD T sharpened(const Drawn& d, const Picture<T>& from, int32_t y, int32_t x,
                      int32_t channel) {
  T sum = 0, own = from.at(y, x, channel);
  for (int32_t row = -1; row <= 1; ++row)
    for (int32_t column = -1; column <= 1; ++column)
      sum += or_zero(from, y + row, x + column, channel) *
             (row == 0 && column == 0 ? T(5) / 13 : T(1) / 13);
  return clipped(own + (1 - T(d.m[0])) * (sum - own), T(d.low), T(d.high));
}

template <class T>
STOKER_HD T noisy(const Drawn& d, const Picture<T>& from, int32_t y, int32_t x, int32_t channel) {
  int64_t element = (int64_t(y) * from.width + x) * from.channels + channel;
  return from.data[element] + T(d.m[0] * normal(d.key, uint64_t(element)));
}

template <class T>
STOKER_HD T erased(const Drawn& d, const Picture<T>& from, int32_t y, int32_t x, int32_t channel) {
  bool in_box = float(x) >= d.m[0] && float(x) < d.m[1] && float(y) >= d.m[2] && float(y) < d.m[3];
  if (!in_box) return from.at(y, x, channel);
  T filling = T(d.fill_value);
  if (d.m[4] == 0)
    filling = T(normal(d.key, uint64_t((int64_t(y) * from.width + x) * from.channels + channel)) *
                d.high);
  return clipped(filling, T(d.low), T(d.high));
}

// Pixel (y, x) of the result, all channels. statistics: as statistics_per_channel says.
template <class T>
STOKER_HD void pixel(const Drawn& d, const T* statistics, const Picture<T>& from, int32_t y,
                     int32_t x, T* to) {
  if (d.kind == Kind::warp) return warped(d, from, y, x, to);
  if (d.kind >= Kind::hue && d.kind <= Kind::grayscale && from.channels == 3)
    return recoloured(d, from.data + (int64_t(y) * from.width + x) * 3, to);
  for (int32_t c = 0; c < from.channels; ++c) {
    if (d.kind == Kind::blur)
      to[c] = blurred(d, from, y, x, c);
    else if (d.kind == Kind::sharpness)
      to[c] = sharpened(d, from, y, x, c);
    else if (d.kind == Kind::erasing)
      to[c] = erased(d, from, y, x, c);
    else if (d.kind == Kind::noise)
      to[c] = noisy(d, from, y, x, c);
    else
      to[c] = changed(d, statistics, from.at(y, x, c), c);
  }
}

// Which bin of a histogram a value counts in.
template <class T>
STOKER_HD int bin_of(const Drawn& d, T value, int bins) {
  return whole<int>(clipped(to_bytes(d, value) * T(bins - 1) / 255, T(0), T(bins - 1)));
}

// Counts of a histogram to the level that each bin becomes; -1: as it is, with a single level.
template <class T>
STOKER_HD void counts_to_levels(T* own, int bins) {
  T least = 0, sum = 0;
  int used = 0;
  for (int bin = 0; bin < bins; ++bin) {
    if (own[bin] > 0 && used++ == 0) least = own[bin];
    own[bin] = sum += own[bin];
  }
  for (int bin = 0; bin < bins; ++bin) {
    T level = T(nearbyint((own[bin] - least) * 255 / (sum > least ? sum - least : T(1))));
    own[bin] = used > 1 ? clipped(level, T(0), T(255)) : T(-1);
  }
}

// The statistics of one channel of a picture.
template <class T>
STOKER_HD void statistics(const Drawn& d, const Picture<T>& from, int32_t channel, T* own) {
  int64_t count = int64_t(from.height) * from.width;
  const T* values = from.data + channel;
  if (d.kind == Kind::contrast) {
    T sum = 0;
    for (int32_t y = 0; y < from.height; ++y) {  // as Keras: a mean of means
      T row = 0;
      for (int32_t x = 0; x < from.width; ++x) row += from.at(y, x, channel);
      sum += row;
    }
    own[0] = sum / T(count);
  }
  if (d.kind == Kind::auto_contrast) {
    own[0] = own[1] = to_bytes(d, values[0]);
    for (int64_t i = 1; i < count; ++i) {
      T value = to_bytes(d, values[i * from.channels]);
      own[0] = value < own[0] ? value : own[0];
      own[1] = value > own[1] ? value : own[1];
    }
  }
  if (d.kind != Kind::equalization) return;
  int bins = int(d.m[0]);
  for (int bin = 0; bin < bins; ++bin) own[bin] = 0;
  for (int64_t i = 0; i < count; ++i) own[bin_of(d, values[i * from.channels], bins)] += 1;
  counts_to_levels(own, bins);
}

}  // namespace stoker::augment
