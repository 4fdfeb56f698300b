// Ops that read and write element by element on float32: on whatever layout their operands have,
// where that is safe.
#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"
#include "graph/unary.h"

namespace stoker::cpu {

namespace {

// Elements below which the team is not woken: an expensive function is worth it sooner.
int64_t grain_of(UnaryFn fn) { return unary_info(fn).flops > 4 ? kGrain / 8 : kGrain; }

// x → y
void build_unary(Builder& b, const Node& node) {
  int x = node.inputs[0], y = node.outputs[0];
  UnaryFn fn = unary_info(node.attrs.get<std::string>("fn")).fn;
  auto alpha = float(node.attrs.get_or<double>("alpha", 0)),
       beta = float(node.attrs.get_or<double>("beta", 0));
  auto function = kernels().unary[int(fn)];
  Layout layout = b.layout(x);
  float at_zero = 0;
  function(&at_zero, &at_zero, 1, alpha, beta);
  if (layout.is_padded() && at_zero != 0) layout = {};  // the padding would not stay zero
  int64_t n = layout.stored_elements(b.spec(x)), grain = grain_of(fn);
  int in = b.input(x, layout), out = b.define_over(y, layout, {in});
  b.emit({own_kernel(), {in}, {out}}, [=](Pointers p) {
    parallel_for(
        n, grain,
        [&](int64_t begin, int64_t end) {
          function(p.in<float>(0) + begin, p.out<float>(1) + begin, end - begin, alpha, beta);
        },
        16);
  });
}

// v, dy → dx
void build_unary_grad(Builder& b, const Node& node) {
  int v = node.inputs[0], dy = node.inputs[1], dx = node.outputs[0];
  UnaryFn fn = unary_info(node.attrs.get<std::string>("fn")).fn;
  auto alpha = float(node.attrs.get_or<double>("alpha", 0)),
       beta = float(node.attrs.get_or<double>("beta", 0));
  auto function = kernels().unary_grad[int(fn)];
  Layout layout = b.layout(v);
  float zero = 0, at_zero = 0;
  function(&zero, &zero, &at_zero, 1, alpha, beta);
  if (layout.is_padded() && at_zero != 0) layout = {};  // a slope that is not finite at zero
  int64_t n = layout.stored_elements(b.spec(v)), grain = grain_of(fn);
  int in = b.input(v, layout), d = b.input(dy, layout), out = b.define_over(dx, layout, {d, in});
  b.emit({own_kernel(), {in, d}, {out}}, [=](Pointers p) {
    parallel_for(
        n, grain,
        [&](int64_t begin, int64_t end) {
          function(p.in<float>(0) + begin, p.in<float>(1) + begin, p.out<float>(2) + begin,
                   end - begin, alpha, beta);
        },
        16);
  });
}

// old, value → old · momentum + value · (1 − momentum), over old
void build_moving_average(Builder& b, const Node& node) {
  // 1 − momentum in double: float would leave 6 of its digits at 0.99.
  auto momentum = node.attrs.get<double>("momentum");
  float keep = float(momentum), take = float(1 - momentum);
  Layout layout = b.layout(node.inputs[0]);
  int value = b.input(node.inputs[1], layout),
      out = b.define_update(node.outputs[0], node.inputs[0], layout);
  int64_t n = layout.stored_elements(b.spec(node.inputs[0]));
  b.emit({own_kernel(), {value}, {out}}, [=](Pointers p) {
    parallel_for(
        n, kGrain,
        [&](int64_t begin, int64_t end) {
          const float* from = p.in<float>(0);
          float* to = p.out<float>(1);
          for (int64_t i = begin; i < end; ++i) to[i] = to[i] * keep + from[i] * take;
        },
        16);
  });
}

}  // namespace

void add_elementwise_builders(OpBuilders& table) {
  table["unary"] = {floats, build_unary};
  table["unary_grad"] = {floats, build_unary_grad};
  table["moving_average"] = {floats, build_moving_average};
}

}  // namespace stoker::cpu
