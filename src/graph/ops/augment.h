// The attributes of augment and augment_mix as base/augment.h takes them.
#pragma once

#include <stoker/attrs.h>
#include <stoker/shape.h>

#include "base/augment_mix.h"
#include "base/augment_stages.h"

namespace stoker {

struct AugmentCall {
  std::vector<augment::Stage> stages;
  int64_t batch, channels;
  augment::Extent from, to;
  uint64_t stream;

  AugmentCall(const Attrs& attrs, const Shape& x);
};

struct MixCall {
  augment::Mix mix;
  int64_t batch, elements;  // of a sample
  int64_t channels;         // 0: labels
  uint64_t stream;

  MixCall(const Attrs& attrs, const Shape& x);
};

// The key of a sample in a graph whose random state is {seed, step}, as dropout's.
inline augment::Key augment_key(uint64_t seed, uint64_t step, uint64_t stream, int64_t sample) {
  constexpr uint64_t kStreamsPerStep = 65536;
  return {seed, step * kStreamsPerStep + stream, uint64_t(sample)};
}

class OpRegistry;
void register_augment_ops(OpRegistry& registry);

}  // namespace stoker
