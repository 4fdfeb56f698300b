// One instruction updates all parameters: their elements, laid end to end, are divided evenly over
// the team.
#include <cmath>
#include <limits>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"
#include "graph/update_layout.h"

namespace stoker::cpu {

int gradient_as_float(Builder& b, int g, const Layout& layout) {
  if (b.spec(g).dtype == DType::float32) return b.input(g, layout);
  int64_t n = b.shape(g).elements();
  int from = b.plain(g), wide = b.scratch(size_t(n) * sizeof(float));
  bool half = b.spec(g).dtype == DType::float16;
  b.emit({"cast", {from}, {wide}, "cast"}, [=](Pointers p) {
    parallel_for(
        n, kGrain,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            p.out<float>(1)[i] = half ? float(p.in<Float16>(0)[i]) : float(p.in<BFloat16>(0)[i]);
        },
        64);
  });
  return wide;
}

namespace {

// The parameters of one update node. Operands of its instruction, in order: the shared ones (lr,
// iterations, scales), then for each parameter its gradient; then, written in place, p and the
// moments of each.
struct Parameters {
  UpdateLayout layout;
  float weight_decay, clip_value;
  std::vector<int64_t> starts;  // where each begins among all elements; the last is their number

  size_t count() const { return layout.count; }
  size_t gradient(size_t i) const { return layout.first() + i; }
  size_t target(size_t i, size_t which) const {
    return layout.first() + count() + i * layout.outputs() + which;
  }
};

// Layout of a parameter and everything that goes with it: the parameter's own, so that the sweep
// needs no reorder. Padding stays zero as long as the rule divides by something.
Layout common_layout(Builder& b, const Node& node, size_t first, bool divides_by_zero) {
  Layout layout = b.layout(node.inputs[first]);
  bool wide = b.spec(node.inputs[first + 1]).dtype == DType::float32;
  return wide && !(layout.is_padded() && divides_by_zero) ? layout : Layout();
}

// Gathers operands into `call`.
Parameters bind_parameters(Builder& b, const Node& node, bool divides_by_zero, Call& call) {
  Parameters all{update_layout(node),
                 float(node.attrs.get_or<double>("weight_decay", 0)),
                 float(node.attrs.get_or<double>("clipvalue", 0)),
                 {0}};
  for (size_t i = 0; i < all.layout.first(); ++i) call.reads.push_back(b.plain(node.inputs[i]));
  for (size_t i = 0; i < all.count(); ++i) {
    size_t first = all.layout.parameter(i), out = i * all.layout.outputs();
    Layout layout = common_layout(b, node, first, divides_by_zero);
    call.reads.push_back(gradient_as_float(b, node.inputs[first + 1], layout));
    for (size_t which = 0; which < all.layout.outputs(); ++which)
      call.writes.push_back(b.define_update(
          node.outputs[out + which], node.inputs[first + (which == 0 ? 0 : which + 1)], layout));
    all.starts.push_back(all.starts.back() + layout.stored_elements(b.spec(node.inputs[first])));
  }
  return all;
}

// Whether the momentum stands behind the learning rate, instead of in the attributes.
bool momentum_given(const Node& node) { return node.attrs.get_or("momentum_given", false); }

// body(parameter, first element, count, what all rules share)
template <class Body>
void sweep(const Parameters& all, Pointers p, const Body& body) {
  float lr = *p.in<float>(0);
  const float* scales = all.layout.scaled ? p.in<float>(int(all.layout.first()) - 1) : nullptr;
  parallel_for(
      all.starts.back(), kGrain / 2,
      [&](int64_t begin, int64_t end) {
        for (size_t i = 0; i < all.count(); ++i) {
          int64_t first = std::max(begin, all.starts[i]), last = std::min(end, all.starts[i + 1]);
          if (first >= last) continue;
          UpdateCommon common{lr, all.weight_decay, all.clip_value,
                              scales == nullptr ? 1 : scales[i]};
          body(i, first - all.starts[i], last - first, common);
        }
      },
      16);
}

}  // namespace

// lr [, scales], then p, g [, m] of each parameter → p [, m]
void build_sgd_update(Builder& b, const Node& node) {
  auto fixed = float(node.attrs.get_or<double>("momentum", 0));
  bool nesterov = node.attrs.get_or("nesterov", false), given = momentum_given(node);
  Call call{own_kernel(), {}, {}};
  Parameters all = bind_parameters(b, node, false, call);
  b.emit(std::move(call), [=](Pointers p) {
    float momentum = given ? p.in<float>(0)[1] : fixed;
    sweep(all, p, [&](size_t i, int64_t at, int64_t n, const UpdateCommon& common) {
      float* m = fixed > 0 ? p.out<float>(int(all.target(i, 1))) + at : nullptr;
      kernels().sgd(p.out<float>(int(all.target(i, 0))) + at,
                    p.in<float>(int(all.gradient(i))) + at, m, n, common, momentum, nesterov);
    });
  });
}

// lr, iterations [, scales], then p, g, m, v [, vhat] → p, m, v [, vhat]
void build_adam_update(Builder& b, const Node& node) {
  auto fixed = node.attrs.get<double>("beta_1"), beta_2 = node.attrs.get<double>("beta_2");
  auto epsilon = node.attrs.get<double>("epsilon");
  bool amsgrad = node.attrs.get_or("amsgrad", false), given = momentum_given(node);
  Call call{own_kernel(), {}, {}};
  Parameters all = bind_parameters(b, node, epsilon == 0, call);
  b.emit(std::move(call), [=](Pointers p) {
    double t = double(*p.in<int64_t>(1)) + 1, beta_1 = given ? double(p.in<float>(0)[1]) : fixed;
    auto rate = float(double(*p.in<float>(0)) * std::sqrt(1 - std::pow(beta_2, t)) /
                      (1 - std::pow(beta_1, t)));
    sweep(all, p, [&](size_t i, int64_t at, int64_t n, const UpdateCommon& common) {
      auto target = [&](size_t which) { return p.out<float>(int(all.target(i, which))) + at; };
      kernels().adam(target(0), p.in<float>(int(all.gradient(i))) + at, target(1), target(2),
                     amsgrad ? target(3) : nullptr, n, common, rate, float(1 - beta_1),
                     float(1 - beta_2), float(epsilon));
    });
  });
}

// lr [, scales], then p, g, v [, mg] [, mom] → p, v [, mg] [, mom]
void build_rmsprop_update(Builder& b, const Node& node) {
  auto rho = node.attrs.get<double>("rho");
  auto epsilon = float(node.attrs.get<double>("epsilon"));
  auto fixed = float(node.attrs.get_or<double>("momentum", 0));
  bool centered = node.attrs.get_or("centered", false), given = momentum_given(node);
  Call call{own_kernel(), {}, {}};
  Parameters all = bind_parameters(b, node, epsilon == 0, call);
  b.emit(std::move(call), [=](Pointers p) {
    float momentum = given ? p.in<float>(0)[1] : fixed;
    sweep(all, p, [&](size_t i, int64_t at, int64_t n, const UpdateCommon& common) {
      auto target = [&](size_t which) { return p.out<float>(int(all.target(i, which))) + at; };
      kernels().rmsprop(target(0), p.in<float>(int(all.gradient(i))) + at, target(1),
                        centered ? target(2) : nullptr,
                        fixed > 0 ? target(2 + size_t(centered)) : nullptr, n, common, float(rho),
                        float(1 - rho), momentum, epsilon);
    });
  });
}

// norm, scale, good steps, skipped steps → scale, good steps, skipped steps, alarm
void build_loss_scale_update(Builder& b, const Node& node) {
  auto growth_steps = node.attrs.get<int64_t>("growth_steps");
  auto min_scale = float(node.attrs.get<double>("min_scale"));
  auto max_scale = float(node.attrs.get<double>("max_scale"));
  Call call{own_kernel(), {}, {}};
  for (int value : node.inputs) call.reads.push_back(b.plain(value));
  for (int value : node.outputs) call.writes.push_back(b.define(value));
  b.emit(std::move(call), [=](Pointers p) {
    float scale = *p.in<float>(1), alarm = 0;
    int64_t good = *p.in<int64_t>(2), skipped = *p.in<int64_t>(3);
    if (!std::isfinite(*p.in<float>(0))) {
      if (scale <= min_scale) alarm = std::numeric_limits<float>::quiet_NaN();
      scale = std::max(scale / 2, min_scale);
      good = std::min(good, int64_t(0)) - 1;
      ++skipped;
    } else if ((good = std::max(good, int64_t(0)) + 1) >= growth_steps) {
      scale = std::min(scale * 2, max_scale);
      good = 0;
    }
    *p.out<float>(4) = scale;
    *p.out<int64_t>(5) = good;
    *p.out<int64_t>(6) = skipped;
    *p.out<float>(7) = alarm;
  });
}

void add_optimizer_builders(OpBuilders& table) {
  table["sgd_update"] = {floats, build_sgd_update};
  table["adam_update"] = {floats, build_adam_update};
  table["rmsprop_update"] = {floats, build_rmsprop_update};
  table["loss_scale_update"] = {floats, build_loss_scale_update};
}

}  // namespace stoker::cpu
