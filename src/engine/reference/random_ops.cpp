// Dropout and draws. What is drawn is a function of (seed, step, stream, element).
#include <stoker/random.h>

#include "engine/reference/kernel.h"
#include "graph/ops/random.h"

namespace stoker::reference {

namespace {

void dropout(const Call& call) {
  const Array &x = call.in(0), &state = call.in(1);
  auto rate = call.attrs.get<double>("rate");
  auto seed = uint64_t(int64_t(state[0])), step = uint64_t(int64_t(state[1]));
  uint64_t stream = random_sequence(int64_t(step), call.attrs.get<int64_t>("stream"));
  for (int64_t i = 0; i < x.size(); ++i) {
    bool kept = unit_float(random_bits(seed, stream, uint64_t(i))) >= rate;
    call.out()[i] = kept ? x[i] / (1 - rate) : 0;
  }
}

void random(const Call& call) {
  const Array& state = call.in(0);
  draws::Draw draw = random_draw(call.attrs);
  auto seed = uint64_t(int64_t(state[0]));
  uint64_t sequence = random_sequence(int64_t(state[1]), call.attrs.get<int64_t>("stream"));
  auto parameter = [&](size_t which, int64_t i) {
    return call.inputs.size() > which ? double(call.in(which)[i]) : 0;
  };
  for (int64_t i = 0; i < call.out().size(); ++i)
    call.out()[i] =
        draw.fn == draws::Fn::integer
            ? Number(draws::integer(draw, seed, sequence, uint64_t(i)))
            : Number(draws::stored(draw, draws::number(draw, seed, sequence, uint64_t(i),
                                                       parameter(1, i), parameter(2, i))));
}

}  // namespace

void add_random_kernels(KernelTable& table) {
  table["dropout"] = dropout;
  table["random"] = random;
}

}  // namespace stoker::reference
