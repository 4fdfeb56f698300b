// The updates: one node holds all parameters, each with its gradient and moments in a row.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/reference/kernel.h"

namespace stoker::reference {

namespace {

// What all three optimisers do before their own rule.
struct Common {
  Number lr, weight_decay, clip_value;
  bool has_momentum;  // a moment lies there for it, whatever it is now
  Number momentum;    // beta_1 of adam
  const Array* scales = nullptr;
  size_t first;  // input of the first parameter

  // `head`: how many inputs come before the optional scales.
  Common(const Call& call, size_t head)
      : lr(call.in(0)[0]),
        weight_decay(call.attrs.get_or<double>("weight_decay", 0)),
        clip_value(call.attrs.get_or<double>("clipvalue", 0)),
        has_momentum(call.attrs.get_or<double>("momentum", 0) > 0),
        momentum(call.attrs.get_or<double>(call.attrs.has("beta_1") ? "beta_1" : "momentum", 0)),
        first(head) {
    if (call.attrs.get_or("momentum_given", false)) momentum = call.in(0)[1];
    if (call.attrs.get_or("scaled", false)) scales = &call.in(first++);
  }

  Number decayed(Number p) const { return p - lr * weight_decay * p; }
  Number gradient(Number g, int64_t parameter) const {
    if (scales != nullptr) g *= (*scales)[parameter];
    return clip_value > 0 ? std::clamp(g, -clip_value, clip_value) : g;
  }
};

// One parameter of a call: `inputs` of them per parameter, p and g first.
struct Parameter {
  const Call& call;
  size_t input, output;
  const Array& in(size_t which) const { return call.in(input + which); }
  Array& out(size_t which) const { return call.out(output + which); }
  int64_t size() const { return in(0).size(); }
};

// body(parameter, its number) for a call with `inputs` arrays in and `inputs - 1` out a parameter:
// all but the gradient come out again.
template <class Body>
void for_each_parameter(const Call& call, const Common& common, size_t inputs, Body body) {
  size_t count = (call.inputs.size() - common.first) / inputs;
  for (size_t which = 0; which < count; ++which)
    body(Parameter{call, common.first + which * inputs, which * (inputs - 1)}, int64_t(which));
}

void sgd_update(const Call& call) {
  Common common(call, 1);
  Number momentum = common.momentum;
  bool nesterov = call.attrs.get_or("nesterov", false);
  size_t inputs = common.has_momentum ? 3 : 2;
  for_each_parameter(call, common, inputs, [&](const Parameter& at, int64_t number) {
    for (int64_t i = 0; i < at.size(); ++i) {
      Number p = common.decayed(at.in(0)[i]);
      Number step = -common.lr * common.gradient(at.in(1)[i], number);
      if (common.has_momentum) {
        Number m = momentum * at.in(2)[i] + step;
        at.out(1)[i] = m;
        step = nesterov ? momentum * m + step : m;
      }
      at.out(0)[i] = p + step;
    }
  });
}

void adam_update(const Call& call) {
  Common common(call, 2);
  Number beta_1 = common.momentum, beta_2 = call.attrs.get<double>("beta_2");
  auto epsilon = call.attrs.get<double>("epsilon");
  bool amsgrad = call.attrs.get_or("amsgrad", false);
  Number t = call.in(1)[0] + 1;
  Number rate = common.lr * std::sqrt(1 - std::pow(beta_2, t)) / (1 - std::pow(beta_1, t));
  for_each_parameter(call, common, amsgrad ? 5 : 4, [&](const Parameter& at, int64_t number) {
    for (int64_t i = 0; i < at.size(); ++i) {
      Number p = common.decayed(at.in(0)[i]);
      Number g = common.gradient(at.in(1)[i], number);
      Number m = at.in(2)[i] + (g - at.in(2)[i]) * (1 - beta_1);
      Number v = at.in(3)[i] + (g * g - at.in(3)[i]) * (1 - beta_2);
      at.out(1)[i] = m;
      at.out(2)[i] = v;
      // Not std::max: NaN in either stays.
      if (amsgrad) at.out(3)[i] = v = at.in(4)[i] <= v || std::isnan(v) ? v : at.in(4)[i];
      at.out(0)[i] = p - rate * m / (std::sqrt(v) + epsilon);
    }
  });
}

void rmsprop_update(const Call& call) {
  Common common(call, 1);
  auto rho = call.attrs.get<double>("rho"), epsilon = call.attrs.get<double>("epsilon");
  Number momentum = common.momentum;
  bool centered = call.attrs.get_or("centered", false);
  size_t inputs = 3 + size_t(centered) + size_t(common.has_momentum);
  for_each_parameter(call, common, inputs, [&](const Parameter& at, int64_t number) {
    for (int64_t i = 0; i < at.size(); ++i) {
      Number p = common.decayed(at.in(0)[i]);
      Number g = common.gradient(at.in(1)[i], number);
      Number v = rho * at.in(2)[i] + (1 - rho) * g * g;
      at.out(1)[i] = v;
      Number denominator = v + epsilon;
      if (centered) {
        Number mean = rho * at.in(3)[i] + (1 - rho) * g;
        at.out(2)[i] = mean;
        denominator -= mean * mean;
      }
      Number step = common.lr * g / std::sqrt(denominator);
      if (common.has_momentum) {
        step += momentum * at.in(inputs - 1)[i];
        at.out(inputs - 2)[i] = step;
      }
      at.out(0)[i] = p - step;
    }
  });
}

// gradients [, loss scale] -> the factor of each (all the same when mode is "global"), and the norm
// over all, both without the loss scale.
void clip_scales(const Call& call) {
  Number max_norm = call.attrs.get<double>("max_norm");
  bool global = call.attrs.get<std::string>("mode") == "global";
  bool scaled = call.attrs.get_or("scaled", false);
  Number factor = scaled ? 1 / (*call.inputs.back())[0] : 1;
  std::vector<Number> squares;
  Number total = 0;
  for (const Array* gradient : call.inputs.first(call.inputs.size() - size_t(scaled))) {
    Number sum = 0;
    for (Number g : gradient->data) sum += g * g;
    squares.push_back(sum);
    total += sum;
  }
  for (size_t which = 0; which < squares.size(); ++which)
    call.out(0)[int64_t(which)] =
        factor * max_norm / std::max(factor * std::sqrt(global ? total : squares[which]), max_norm);
  call.out(1)[0] = factor * std::sqrt(total);
}

// norm, scale, good steps, skipped steps -> scale, good steps, skipped steps, alarm
void loss_scale_update(const Call& call) {
  Number scale = call.in(1)[0], good = call.in(2)[0], skipped = call.in(3)[0];
  Number floor = call.attrs.get<double>("min_scale"), alarm = 0;
  if (!std::isfinite(call.in(0)[0])) {
    if (scale <= floor) alarm = std::numeric_limits<Number>::quiet_NaN();
    scale = std::max(scale / 2, floor);
    good = std::min(good, Number(0)) - 1;
    skipped += 1;
  } else if ((good = std::max(good, Number(0)) + 1) >=
             Number(call.attrs.get<int64_t>("growth_steps"))) {
    scale = std::min(scale * 2, Number(call.attrs.get<double>("max_scale")));
    good = 0;
  }
  call.out(0)[0] = scale;
  call.out(1)[0] = good;
  call.out(2)[0] = skipped;
  call.out(3)[0] = alarm;
}

}  // namespace

void add_optimizer_kernels(KernelTable& table) {
  table["sgd_update"] = sgd_update;
  table["adam_update"] = adam_update;
  table["rmsprop_update"] = rmsprop_update;
  table["clip_scales"] = clip_scales;
  table["loss_scale_update"] = loss_scale_update;
}

}  // namespace stoker::reference
