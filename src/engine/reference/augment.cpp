// augment, augment_mix: the formulas of base in double.
#include "graph/ops/augment.h"

#include "engine/reference/kernel.h"

namespace stoker::reference {

namespace {

void augment_pictures(const Call& call) {
  const Array &x = call.in(0), &state = call.in(1);
  AugmentCall how(call.attrs, x.shape());
  std::vector<double> from(x.data.begin(), x.data.end()), to(size_t(call.out().size())),
      scratch(size_t(augment::kMostBins * how.channels));
  int64_t in = int64_t(how.from.height) * how.from.width * how.channels,
          out = int64_t(how.to.height) * how.to.width * how.channels;
  for (int64_t b = 0; b < how.batch; ++b)
    augment::run_sample<double>(
        how.stages,
        augment_key(uint64_t(int64_t(state[0])), uint64_t(int64_t(state[1])), how.stream, b),
        {from.data() + b * in, how.from.height, how.from.width, int32_t(how.channels)}, how.to,
        to.data() + b * out, scratch.data());
  for (int64_t i = 0; i < call.out().size(); ++i) call.out()[i] = to[size_t(i)];
}

void mix_samples(const Call& call) {
  const Array &x = call.in(0), &state = call.in(1);
  MixCall how(call.attrs, x.shape());
  for (int64_t b = 0; b < how.batch; ++b) {
    augment::Mixed mixed = augment::draw_mix(
        how.mix,
        augment_key(uint64_t(int64_t(state[0])), uint64_t(int64_t(state[1])), how.stream, b),
        how.batch);
    for (int64_t i = 0; i < how.elements; ++i)
      call.out()[b * how.elements + i] =
          augment::mixed_value(how.mix, mixed, x[b * how.elements + i],
                               x[mixed.partner * how.elements + i], i, how.channels);
  }
}

}  // namespace

void add_augment_kernels(KernelTable& table) {
  table["augment"] = augment_pictures;
  table["augment_mix"] = mix_samples;
}

}  // namespace stoker::reference
