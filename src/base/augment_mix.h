// MixUp and CutMix: every sample of a batch with a partner of the same batch. As base/augment.h:
// draws and formulas for every kernel.
#pragma once

#include "base/augment.h"

namespace stoker::augment {

// What was asked for.
struct Mix {
  int32_t cut = 0;                            // 1: a box of the partner; 0: a weighted sum
  float alpha_low = 0.2F, alpha_high = 0.2F;  // of the beta distribution, drawn once per batch
  Extent picture = {};                        // the pictures' extent, also where labels are mixed
};

// What was drawn for a sample.
struct Mixed {
  int64_t partner = 0;
  float share = 1;    // of the sample itself
  float box[4] = {};  // of the partner: left, right, top, bottom
};

// Numbers of a sample's own sequence, one after the other.
struct Draws {
  Key key;
  uint64_t next = 0;
  STOKER_HD float uniform() {
    PhiloxBlock block = random_block(key.seed, key.stream, (key.sample + 1) << 32 | next++);
    return (float(block[0] >> 8) + 0.5F) * 0x1p-24F;
  }
  STOKER_HD float normal() {
    float radius = sqrtf(-2 * logf(uniform()));
    return radius * cosf(6.283185307F * uniform());
  }
};

// Marsaglia and Tsang (2000); below 1 by a power of a uniform number. As its logarithm: numbers of a
// small alpha are below what a float can hold.
STOKER_HD inline float log_gamma_draw(Draws& draws, float alpha) {
  float boost = 0;
  if (alpha < 1) {
    boost = logf(draws.uniform()) / alpha;
    alpha += 1;
  }
  float d = alpha - 1.0F / 3, c = 1 / sqrtf(9 * d);
  for (int attempt = 0; attempt < 64; ++attempt) {
    float x = draws.normal(), v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    if (logf(draws.uniform()) < 0.5F * x * x + d - d * v + d * logf(v)) return logf(d * v) + boost;
  }
  return logf(d) + boost;
}

// Beta(alpha, alpha), of [0, 1].
STOKER_HD inline float beta_draw(Draws& draws, float alpha) {
  float a = log_gamma_draw(draws, alpha), b = log_gamma_draw(draws, alpha);
  return 1 / (1 + expf(b - a));
}

// The place of a sample in a random order of the batch: a permutation.
STOKER_HD inline int64_t partner_of(const Key& key, int64_t batch) {
  auto rank_word = [&](uint64_t sample) { return random_block(key.seed, key.stream, sample)[0]; };
  uint32_t own = rank_word(key.sample);
  int64_t place = 0;
  for (int64_t other = 0; other < batch; ++other) {
    uint32_t word = rank_word(uint64_t(other));
    place += word < own || (word == own && uint64_t(other) < key.sample) ? 1 : 0;
  }
  return place;
}

STOKER_HD inline Mixed draw_mix(const Mix& mix, const Key& key, int64_t batch) {
  Draws draws = {key}, of_batch = {{key.seed, key.stream, uint64_t(batch)}};
  float alpha = mix.alpha_low + (mix.alpha_high - mix.alpha_low) * of_batch.uniform();
  Mixed mixed;
  mixed.partner = partner_of(key, batch);
  mixed.share = beta_draw(draws, mix.cut != 0 ? alpha + 1e-6F : alpha);
  if (mix.cut == 0) return mixed;
  float side = sqrtf(1 - mixed.share);
  int32_t extents[2] = {mix.picture.width, mix.picture.height};
  for (int axis = 0; axis < 2; ++axis) {
    float size = side * float(extents[axis]);
    mixed.box[2 * axis] = draws.uniform() * (float(extents[axis]) - size);
    mixed.box[2 * axis + 1] = mixed.box[2 * axis] + size;
  }
  mixed.share = 1 - (mixed.box[1] - mixed.box[0]) * (mixed.box[3] - mixed.box[2]) /
                        (float(mix.picture.width) * float(mix.picture.height));
  return mixed;
}

// Element `index` of a sample from its own and its partner's. channels: of the pictures, 0 for labels.
template <class T>
STOKER_HD T mixed_value(const Mix& mix, const Mixed& mixed, T own, T other, int64_t index,
                        int64_t channels) {
  if (mix.cut == 0 || channels == 0) return T(mixed.share) * own + (1 - T(mixed.share)) * other;
  int64_t pixel = index / channels, row = pixel / mix.picture.width;
  auto x = float(pixel % mix.picture.width);
  auto y = float(row);
  bool in_box = x >= mixed.box[0] && x < mixed.box[1] && y >= mixed.box[2] && y < mixed.box[3];
  return in_box ? other : own;
}

}  // namespace stoker::augment
