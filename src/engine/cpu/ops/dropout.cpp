#include <cmath>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

// x, state: int64 [2] = {seed, step} → y. Element i, in row-major order, takes word i of the
// sequence (seed, step · 65536 + stream): the same whatever the layout or the team.
void build_dropout(Builder& b, const Node& node) {
  auto rate = node.attrs.get<double>("rate");
  auto stream = uint64_t(node.attrs.get<int64_t>("stream"));
  // unit_float(bits) >= rate, in integers: the upper 24 bits are compared with rate · 2^24.
  auto threshold = uint32_t(std::ceil(rate * 0x1p24));
  auto scale = float(1 / (1 - rate));
  int64_t n = b.shape(node.inputs[0]).elements();
  int x = b.plain(node.inputs[0]), state = b.plain(node.inputs[1]);
  int y = b.define_over(node.outputs[0], {}, {x});
  b.emit({own_kernel(), {x, state}, {y}}, [=](Pointers p) {
    const int64_t* at = p.in<int64_t>(1);
    uint64_t seed = uint64_t(at[0]), sequence = uint64_t(at[1]) * 65536 + stream;
    parallel_for(
        n, kGrain / 8,
        [&](int64_t begin, int64_t end) {
          kernels().dropout(p.in<float>(0) + begin, p.out<float>(2) + begin, end - begin, seed,
                            sequence, uint64_t(begin), threshold, scale);
        },
        64);
  });
}

}  // namespace

void add_dropout_builders(OpBuilders& table) { table["dropout"] = {floats, build_dropout}; }

}  // namespace stoker::cpu
