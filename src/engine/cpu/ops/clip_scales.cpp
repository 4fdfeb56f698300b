// clip_scales: the factors that bring gradients below a norm. The squares of a gradient are summed
// right behind the node that makes it, while it is in a cache; what is left for the node itself is a
// few numbers.
#include <algorithm>
#include <cmath>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

// The gradients of one node, and how each of them is divided.
struct GradientNorms {
  int count, parts;
  int sums;  // buffer: double [parts, count]

  GradientNorms(const Builder& b, const Node& node, int buffer)
      : count(int(node.inputs.size()) - int(node.attrs.get_or("scaled", false))), sums(buffer) {
    int64_t all = 0;
    for (int i = 0; i < count; ++i) all += b.shape(node.inputs[size_t(i)]).elements();
    parts = all < 2 * kGrain ? 1 : team_size();
  }
};

void emit_norm(Builder& b, int value, int index, const GradientNorms& norms) {
  Layout layout =
      b.spec(value).dtype == DType::float32 ? b.layout(value) : Layout();  // padding adds nothing
  int from = gradient_as_float(b, value, layout);
  int64_t n = layout.stored_elements(b.spec(value));
  int count = norms.count, parts = norms.parts;
  b.emit({own_kernel(), {from}, {norms.sums}, "norm of a gradient"}, [=](Pointers p) {
    double* sums = p.out<double>(1);
    auto add_part = [&](int part) {
      Part own = part_of(n, part, parts, 16);
      sums[part * count + index] =
          own.begin < own.end
              ? kernels().sum_of_squares(p.in<float>(0) + own.begin, own.end - own.begin)
              : 0;
    };
    if (parts == 1 || n < 2 * kGrain) {
      for (int part = 0; part < parts; ++part) add_part(part);
      return;
    }
    on_team([&](int worker, int) { add_part(worker); });
  });
}

// g₀ … gₙ₋₁ [, loss scale] → scales: [n], norm: []
void build_clip_scales(Builder& b, const Node& node) {
  double max_norm = node.attrs.get<double>("max_norm");
  bool global = node.attrs.get<std::string>("mode") == "global";
  bool scaled = node.attrs.get_or("scaled", false);
  GradientNorms norms(b, node, b.attachments().at(node.outputs[0])[0]);
  for (int value : node.inputs) b.build_awaited(value);  // gradients that no node makes
  Call call{own_kernel(), {norms.sums}, {b.define(node.outputs[0]), b.define(node.outputs[1])}};
  if (scaled) call.reads.push_back(b.plain(node.inputs.back()));
  b.emit(std::move(call), [=](Pointers p) {
    const double* sums = p.in<double>(0);
    float *scales = p.out<float>(scaled ? 2 : 1), *norm = p.out<float>(scaled ? 3 : 2);
    double total = 0, factor = scaled ? 1 / double(*p.in<float>(1)) : 1;
    auto sum_of = [&](int i) {
      double sum = sums[i];
      for (int part = 1; part < norms.parts; ++part) sum += sums[part * norms.count + i];
      return sum;
    };
    for (int i = 0; i < norms.count; ++i) total += sum_of(i);
    for (int i = 0; i < norms.count; ++i)
      scales[i] = float(factor * max_norm /
                        std::max(factor * std::sqrt(global ? total : sum_of(i)), max_norm));
    *norm = float(factor * std::sqrt(total));
  });
}

}  // namespace

void await_gradients(Builder& b) {
  for (const Node& node : b.graph().nodes()) {
    if (!node.is("clip_scales")) continue;
    size_t most = node.inputs.size() * size_t(team_size());
    GradientNorms norms(b, node, b.scratch(most * sizeof(double)));
    b.attachments()[node.outputs[0]] = {norms.sums};
    for (int i = 0; i < norms.count; ++i) {
      int value = node.inputs[size_t(i)];
      b.await(value, [=](Builder& builder) { emit_norm(builder, value, i, norms); });
    }
  }
}

void add_clip_builders(OpBuilders& table) { table["clip_scales"] = {widenable, build_clip_scales}; }

}  // namespace stoker::cpu
