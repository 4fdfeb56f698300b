#include <cmath>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"
#include "graph/ops/random.h"

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

// state [, parameters] → draws
void build_random(Builder& b, const Node& node) {
  draws::Draw draw = random_draw(node.attrs);
  auto stream = node.attrs.get<int64_t>("stream");
  int64_t n = b.shape(node.outputs[0]).elements();
  std::vector<int> reads;
  for (int value : node.inputs) reads.push_back(b.plain(value));
  auto parameters = int(reads.size()) - 1;
  int y = b.define(node.outputs[0]);
  b.emit({"random", reads, {y}}, [=](Pointers p) {
    const int64_t* at = p.in<int64_t>(0);
    uint64_t seed = uint64_t(at[0]), sequence = random_sequence(at[1], stream);
    auto parameter = [&](int which, int64_t i) {
      return parameters >= which ? double(p.in<float>(which)[i]) : 0;
    };
    parallel_for(n, kGrain / 32, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (draw.fn == draws::Fn::integer)
          p.out<int64_t>(parameters + 1)[i] = draws::integer(draw, seed, sequence, uint64_t(i));
        else
          p.out<float>(parameters + 1)[i] = draws::stored(
              draw,
              draws::number(draw, seed, sequence, uint64_t(i), parameter(1, i), parameter(2, i)));
    });
  });
}

}  // namespace

void add_dropout_builders(OpBuilders& table) {
  table["dropout"] = {floats, build_dropout};
  table["random"] = {integers, build_random};
}

}  // namespace stoker::cpu
