// Augmentations of pictures, [height, width, channels]: what is drawn for a sample, and what becomes
// of a pixel. The formulas are Keras's. They stand here once: steps of a pipeline and the kernels of
// every engine call them, so that the same key gives the same picture everywhere. Positions are float
// in all of them; values are T (float, and double in the reference engine).
//
// Tolerance between two kernels: 1e-5 of the value range per pixel. Where a formula jumps (nearest
// interpolation, posterisation, a threshold), a pixel whose position or value lies within rounding of
// the jump may take the other side.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/philox.h"

#ifdef __CUDACC__
#define STOKER_HD __host__ __device__
#else
#define STOKER_HD
#endif

namespace stoker::augment {

enum class Kind : int32_t {
  none,
  flip,         // a: horizontally, vertically (0 or 1)
  rotation,     // a: low, high, in turns
  translation,  // a: height low, high, width low, high, of the extent
  zoom,   // a: height low, high, width low, high, added to 1; a[4]: 1 if the width is drawn too
  shear,  // a: x low, high, y low, high
  perspective,    // a: probability low, high, scale
  crop,           // the result's size is smaller
  brightness,     // a: low, high, of the value range
  contrast,       // a: low, high, of the factor
  hue,            // a: low, high
  saturation,     // a: low, high
  degeneration,   // a: low, high
  grayscale,      // a: probability
  invert,         // a: probability low, high
  posterization,  // a: bits low, high
  solarization,   // a: addition low, high, threshold low, high
  sharpness,      // a: low, high
  blur,           // a: probability low, high, kernel height, width, sigma low, high
  auto_contrast,
  equalization,  // a: bins
  erasing,  // a: probability low, high, area low, high; a[4]: 1 fills with fill_value, 0 with noise
  noise,    // a: deviation of what is added, mean 0
  warp      // of a Drawn: m takes a pixel of the result to a place of the source
};
enum class Fill : int32_t { constant, nearest, reflect, wrap };

// An augmentation as it was asked for.
struct Stage {
  Kind kind = Kind::none;
  Fill fill = Fill::reflect;
  int32_t bilinear = 1;  // 0: nearest
  float fill_value = 0;
  float low = 0, high = 255;  // the value range
  float a[6] = {};
};
inline constexpr int kStageNumbers = 12;

// Names the draws of one sample.
struct Key {
  uint64_t seed = 0, stream = 0, sample = 0;
};
inline constexpr uint64_t kDrawsPerSample = 64;

// What was drawn: enough to compute every pixel.
struct Drawn {
  Kind kind = Kind::none;
  Fill fill = Fill::constant;
  int32_t bilinear = 0;
  float fill_value = 0, low = 0, high = 255;
  float m[8] = {};
  Key key = {};
};

STOKER_HD inline float uniform(const Key& key, uint64_t number) {
  uint64_t index = key.sample * kDrawsPerSample + number;
  PhiloxBlock block = random_block(key.seed, key.stream, index / 4);
  return float(block[index % 4] >> 8) * 0x1p-24F;
}
STOKER_HD inline float between(const Key& key, uint64_t number, float low, float high) {
  return low + (high - low) * uniform(key, number);
}

struct Extent {
  int32_t height = 0, width = 0;
};

STOKER_HD inline void set_warp(Drawn& drawn, float a0, float a1, float a2, float b0, float b1,
                               float b2) {
  drawn.kind = Kind::warp;
  float m[8] = {a0, a1, a2, b0, b1, b2, 0, 0};
  for (int i = 0; i < 8; ++i) drawn.m[i] = m[i];
}

// The projection that takes the corners `to` of the result to the corners `from` of the source: eight
// equations, solved in double.
STOKER_HD inline void set_homography(Drawn& drawn, const float (&from)[4][2],
                                     const float (&to)[4][2]) {
  double rows[8][9] = {};
  for (int corner = 0; corner < 4; ++corner) {
    double x = to[corner][0], y = to[corner][1];
    for (int axis = 0; axis < 2; ++axis) {
      double* row = rows[2 * corner + axis];
      double target = from[corner][axis];
      row[3 * axis] = x;
      row[3 * axis + 1] = y;
      row[3 * axis + 2] = 1;
      row[6] = -target * x;
      row[7] = -target * y;
      row[8] = target;
    }
  }
  for (int step = 0; step < 8; ++step) {
    int pivot = step;
    for (int row = step + 1; row < 8; ++row)
      if (fabs(rows[row][step]) > fabs(rows[pivot][step])) pivot = row;
    for (int column = 0; column < 9; ++column) {
      double kept = rows[step][column];
      rows[step][column] = rows[pivot][column];
      rows[pivot][column] = kept;
    }
    for (int row = 0; row < 8; ++row) {
      if (row == step) continue;
      double factor = rows[row][step] / rows[step][step];
      for (int column = step; column < 9; ++column)
        rows[row][column] -= factor * rows[step][column];
    }
  }
  drawn.kind = Kind::warp;
  for (int i = 0; i < 8; ++i) drawn.m[i] = float(rows[i][8] / rows[i][i]);
}

// --- what is drawn: geometry ---------------------------------------------------------------------

STOKER_HD inline void draw_flip(const Stage& stage, Extent from, Drawn& drawn) {
  bool across = stage.a[0] != 0 && uniform(drawn.key, 0) <= 0.5F;
  bool down = stage.a[1] != 0 && uniform(drawn.key, 1) <= 0.5F;
  set_warp(drawn, across ? -1.0F : 1.0F, 0, across ? float(from.width - 1) : 0.0F, 0,
           down ? -1.0F : 1.0F, down ? float(from.height - 1) : 0.0F);
  drawn.bilinear = 0;
}

STOKER_HD inline void set_rotation(Drawn& drawn, float angle, Extent from) {
  float cosine = cosf(angle), sine = sinf(angle);
  float x = float(from.width - 1) / 2, y = float(from.height - 1) / 2;
  set_warp(drawn, cosine, -sine, x - x * cosine + y * sine, sine, cosine,
           y - x * sine - y * cosine);
}

STOKER_HD inline void set_zoom(Drawn& drawn, float height, float width, Extent from) {
  set_warp(drawn, width, 0, float(from.width - 1) / 2 * (1 - width), 0, height,
           float(from.height - 1) / 2 * (1 - height));
}

// Every corner moves by a share of its own place; u: a number per coordinate.
STOKER_HD inline void set_perspective(Drawn& drawn, const float (&moves)[4][2], Extent from) {
  float right = float(from.width - 1), bottom = float(from.height - 1);
  float corners[4][2] = {{0, 0}, {right, 0}, {0, bottom}, {right, bottom}}, moved[4][2];
  for (int corner = 0; corner < 4; ++corner)
    for (int axis = 0; axis < 2; ++axis)
      moved[corner][axis] = corners[corner][axis] + corners[corner][axis] * moves[corner][axis];
  set_homography(drawn, corners, moved);
}

STOKER_HD inline void draw_perspective(const Stage& stage, Extent from, Drawn& drawn) {
  const Key& key = drawn.key;
  drawn.kind = Kind::none;
  if (!(uniform(key, 1) < between(key, 0, stage.a[0], stage.a[1]))) return;
  float moves[4][2];
  for (int i = 0; i < 8; ++i)
    moves[i / 2][i % 2] = between(key, uint64_t(2 + i), -0.5F, 0.5F) * stage.a[2];
  set_perspective(drawn, moves, from);
  drawn.fill = Fill::constant;
}

STOKER_HD inline void draw_geometry(const Stage& stage, Extent from, Extent to, Drawn& drawn) {
  const Key& key = drawn.key;
  const float* a = stage.a;
  switch (stage.kind) {
    case Kind::flip:
      return draw_flip(stage, from, drawn);
    case Kind::rotation:
      return set_rotation(drawn, between(key, 0, a[0], a[1]) * 6.283185307F, from);
    case Kind::translation:
      return set_warp(drawn, 1, 0, -between(key, 1, a[2], a[3]) * float(from.width), 0, 1,
                      -between(key, 0, a[0], a[1]) * float(from.height));
    case Kind::zoom: {
      float height = 1 + between(key, 0, a[0], a[1]);
      return set_zoom(drawn, height, a[4] != 0 ? 1 + between(key, 1, a[2], a[3]) : height, from);
    }
    case Kind::shear: {
      float sign = uniform(key, 0) > 0.5F ? -1.0F : 1.0F;
      return set_warp(drawn, 1, sign * between(key, 1, a[0], a[1]), 0,
                      sign * between(key, 2, a[2], a[3]), 1, 0);
    }
    case Kind::perspective:
      return draw_perspective(stage, from, drawn);
    default:  // crop
      set_warp(drawn, 1, 0, floorf(uniform(key, 1) * float(from.width - to.width + 1)), 0, 1,
               floorf(uniform(key, 0) * float(from.height - to.height + 1)));
      drawn.bilinear = 0;
  }
}

// --- what is drawn: values -----------------------------------------------------------------------

// Where an interval of this share of the length begins and ends.
STOKER_HD inline void draw_interval(const Key& key, uint64_t number, float share, int32_t length,
                                    float& begin, float& end) {
  float size = share * float(length);
  begin = uniform(key, number) * (float(length) - size);
  end = begin + size;
}

STOKER_HD inline void draw_values(const Stage& stage, Extent from, Drawn& drawn) {
  const Key& key = drawn.key;
  const float* a = stage.a;
  float first = between(key, 0, a[0], a[1]);
  drawn.kind = stage.kind;
  drawn.m[0] = first;
  switch (stage.kind) {
    case Kind::brightness:
      drawn.m[0] = first * (stage.high - stage.low);
      break;
    case Kind::hue:
      drawn.m[0] = (uniform(key, 1) > 0.5F ? -0.5F : 0.5F) * first;
      break;
    case Kind::saturation:
      drawn.m[0] = first / (1 - first + 1e-7F);
      break;
    case Kind::grayscale:
      if (!(uniform(key, 1) < a[0])) drawn.kind = Kind::none;
      break;
    case Kind::posterization:
      drawn.m[0] = 8 - floorf(first);
      break;
    case Kind::solarization:
      drawn.m[0] = between(key, 0, a[0], a[1] * 255);
      drawn.m[1] = between(key, 1, a[2], a[3] * 255);
      break;
    case Kind::sharpness:
      drawn.m[0] = 2 * first;
      break;
    case Kind::equalization:
    case Kind::noise:
      drawn.m[0] = a[0];
      break;
    case Kind::invert:
    case Kind::blur:
    case Kind::erasing:
      if (!(uniform(key, 1) < first)) drawn.kind = Kind::none;
      break;
    default:
      break;
  }
  if (drawn.kind == Kind::blur) {
    drawn.m[0] = between(key, 2, a[4], a[5]) + 1e-6F;  // along the width
    drawn.m[1] = between(key, 3, a[4], a[5]) + 1e-6F;
    drawn.m[2] = a[2];
    drawn.m[3] = a[3];
  }
  if (drawn.kind == Kind::erasing) {
    draw_interval(key, 4, sqrtf(between(key, 2, a[2], a[3])), from.width, drawn.m[0], drawn.m[1]);
    draw_interval(key, 5, sqrtf(between(key, 3, a[2], a[3])), from.height, drawn.m[2], drawn.m[3]);
    drawn.m[4] = a[4];
  }
}

// One of `count` stages, all as likely, with its numbers.
STOKER_HD inline Drawn draw(const Stage* stages, int count, const Key& key, Extent from,
                            Extent to) {
  int which = 0;
  if (count > 1) {
    which = int(uniform(key, kDrawsPerSample - 1) * float(count));
    which = which < count ? which : count - 1;
  }
  const Stage& stage = stages[which];
  Drawn drawn;
  drawn.fill = stage.fill;
  drawn.bilinear = stage.bilinear;
  drawn.fill_value = stage.fill_value;
  drawn.low = stage.low;
  drawn.high = stage.high;
  drawn.key = key;
  if (stage.kind == Kind::none) return drawn;
  if (stage.kind <= Kind::crop)
    draw_geometry(stage, from, to, drawn);
  else
    draw_values(stage, from, drawn);
  return drawn;
}

}  // namespace stoker::augment
