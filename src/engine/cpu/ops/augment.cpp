// augment, augment_mix: a sample is a thread's work.
#include "graph/ops/augment.h"

#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

void build_augment(Builder& b, const Node& node) {
  AugmentCall how(node.attrs, b.shape(node.inputs[0]));
  int x = b.plain(node.inputs[0]), state = b.plain(node.inputs[1]), y = b.define(node.outputs[0]);
  int64_t in = int64_t(how.from.height) * how.from.width * how.channels,
          out = int64_t(how.to.height) * how.to.width * how.channels;
  b.emit({own_kernel(), {x, state}, {y}}, [=](Pointers p) {
    const int64_t* at = p.in<int64_t>(1);
    auto seed = uint64_t(at[0]), step = uint64_t(at[1]);
    parallel_for(how.batch, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> scratch(size_t(augment::kMostBins * how.channels));
      for (int64_t sample = begin; sample < end; ++sample)
        augment::run_sample<float>(
            how.stages, augment_key(seed, step, how.stream, sample),
            {p.in<float>(0) + sample * in, how.from.height, how.from.width, int32_t(how.channels)},
            how.to, p.out<float>(2) + sample * out, scratch.data());
    });
  });
}

void build_augment_mix(Builder& b, const Node& node) {
  MixCall how(node.attrs, b.shape(node.inputs[0]));
  int x = b.plain(node.inputs[0]), state = b.plain(node.inputs[1]), y = b.define(node.outputs[0]);
  b.emit({own_kernel(), {x, state}, {y}}, [=](Pointers p) {
    const int64_t* at = p.in<int64_t>(1);
    const float* from = p.in<float>(0);
    auto seed = uint64_t(at[0]), step = uint64_t(at[1]);
    parallel_for(how.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t sample = begin; sample < end; ++sample) {
        augment::Mixed mixed =
            augment::draw_mix(how.mix, augment_key(seed, step, how.stream, sample), how.batch);
        const float *own = from + sample * how.elements,
                    *other = from + mixed.partner * how.elements;
        float* to = p.out<float>(2) + sample * how.elements;
        for (int64_t i = 0; i < how.elements; ++i)
          to[i] = augment::mixed_value(how.mix, mixed, own[i], other[i], i, how.channels);
      }
    });
  });
}

}  // namespace

void add_augment_builders(OpBuilders& table) {
  table["augment"] = {floats, build_augment};
  table["augment_mix"] = {floats, build_augment_mix};
}

}  // namespace stoker::cpu
