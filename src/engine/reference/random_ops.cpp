// Dropout: the only op that draws. What it draws is a function of (seed, step, stream, element).
#include <stoker/random.h>

#include "engine/reference/kernel.h"

namespace stoker::reference {

namespace {

constexpr uint64_t kStreamsPerStep = 65536;

void dropout(const Call& call) {
  const Array &x = call.in(0), &state = call.in(1);
  auto rate = call.attrs.get<double>("rate");
  auto seed = uint64_t(int64_t(state[0])), step = uint64_t(int64_t(state[1]));
  uint64_t stream = step * kStreamsPerStep + uint64_t(call.attrs.get<int64_t>("stream"));
  for (int64_t i = 0; i < x.size(); ++i) {
    bool kept = unit_float(random_bits(seed, stream, uint64_t(i))) >= rate;
    call.out()[i] = kept ? x[i] / (1 - rate) : 0;
  }
}

}  // namespace

void add_random_kernels(KernelTable& table) { table["dropout"] = dropout; }

}  // namespace stoker::reference
