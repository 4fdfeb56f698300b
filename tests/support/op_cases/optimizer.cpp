// The updates, clip_scales and loss_scale_update: two or three parameters, every option alone and
// all together.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "support/op_cases.h"

namespace stoker::test {

namespace {

// A few roundings an element, one after another.
constexpr double kRoundings = 8;

// How an op's operands lie: `head` shared ones, then p, g and the moments of each parameter.
struct Layout {
  std::string op;
  size_t head;
  std::vector<Fill> moments;
};

// Each output is an operand plus a change: both are its scale, and a moment also sees g and g².
std::vector<double> update_scales(const OpRun& run, size_t first, size_t moments) {
  std::vector<double> scales;
  for (size_t input = first; input < run.inputs.size(); input += 2 + moments) {
    double g = largest(run.inputs[input + 1]);
    scales.push_back(largest(run.inputs[input]) + largest(run.expected[scales.size()]));
    for (size_t moment = 0; moment < moments; ++moment)
      scales.push_back(largest(run.inputs[input + 2 + moment]) +
                       largest(run.expected[scales.size()]) + std::max(g, g * g));
  }
  return scales;
}

struct Variant {
  std::string name;
  std::vector<Shape> parameters = {{3, 5}, {7}};
  double lr = 0.1;
  double weight_decay = 0, clipvalue = 0;
  bool scaled = false;
  Fill p = {};
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {.name = "plain"},
      {.name = "three_parameters", .parameters = {{2, 3, 3, 4}, {1}, {33}}},
      {.name = "scalar_parameter", .parameters = {{}}},
      {.name = "large", .parameters = {{1021, 67}, {64}}},
      // Nothing hides an error of the step behind a large parameter.
      {.name = "small_parameters", .lr = 1, .p = {-0.001, 0.001}},
      {.name = "weight_decay", .weight_decay = 0.04},
      {.name = "clipvalue", .clipvalue = 0.5},
      {.name = "scaled", .scaled = true},
      {.name = "everything",
       .parameters = {{5, 3}, {3}, {4}},
       .weight_decay = 0.01,
       .clipvalue = 0.3,
       .scaled = true},
  };
  return all;
}

OpCase update(const Layout& layout, const Variant& variant, const std::string& name, Attrs attrs,
              double iterations) {
  attrs.set("weight_decay", variant.weight_decay);
  attrs.set("clipvalue", variant.clipvalue);
  attrs.set("scaled", variant.scaled);
  OpCase one{name.empty() ? variant.name : fmt::format("{}_{}", name, variant.name),
             std::move(attrs),
             {},
             {}};
  if (one.attrs.get_or("momentum_given", false))
    one.inputs.push_back({{2}, {.values = {variant.lr, 0.8}}, kFloat32});
  else
    one.inputs.push_back({{}, {.values = {variant.lr}}, kFloat32});
  if (layout.head == 2) one.inputs.push_back({{}, {.values = {iterations}}, DType::int64});
  if (variant.scaled)
    one.inputs.push_back({{int64_t(variant.parameters.size())}, {0.2, 1}, kFloat32});
  for (const Shape& shape : variant.parameters) {
    one.inputs.push_back({shape, variant.p, kFloat32});
    one.inputs.push_back({shape, {}, kFloat32});
    for (const Fill& moment : layout.moments) one.inputs.push_back({shape, moment, kFloat32});
  }
  size_t first = layout.head + size_t(variant.scaled), moments = layout.moments.size();
  one.bound =
      scaled(kRoundings, [=](const OpRun& run) { return update_scales(run, first, moments); });
  return one;
}

void add_sgd(OpCases& cases) {
  for (const Variant& variant : variants()) {
    auto add = [&](const std::string& name, double momentum, bool nesterov, bool given = false) {
      Layout layout{"sgd_update", 1, std::vector<Fill>(momentum > 0 ? 1 : 0)};
      cases.good.push_back(
          update(layout, variant, name,
                 {{"momentum", momentum}, {"nesterov", nesterov}, {"momentum_given", given}}, 0));
    };
    add("", 0.0, false);
    add("momentum", 0.9, false);
    add("nesterov", 0.9, true);
    add("given", 0.9, true, true);
  }
  TensorSpec lr{kFloat32, {}}, p{kFloat32, {3}}, g{kFloat32, {4}};
  Attrs attrs = {{"momentum", 0.0},
                 {"nesterov", false},
                 {"weight_decay", 0.0},
                 {"clipvalue", 0.0},
                 {"scaled", false}};
  Attrs heavy = attrs, scaled = attrs;
  heavy.set("momentum", 0.9);
  scaled.set("scaled", true);
  Attrs given = heavy;
  given.set("momentum_given", true);
  cases.bad = {{"a gradient of another shape", attrs, {lr, p, g}},
               {"a vector of learning rates", attrs, {p, p, p}},
               {"no moment", heavy, {lr, p, p}},
               {"no momentum beside the rate", given, {lr, p, p, p}},
               {"no scales", scaled, {lr, p, p}},
               {"no parameters", attrs, {lr}}};
}

void add_adam(OpCases& cases) {
  Fill positive{0.01, 1};
  for (const Variant& variant : variants())
    for (bool amsgrad : {false, true}) {
      Layout layout{"adam_update", 2, {{}, positive}};
      if (amsgrad) layout.moments.push_back(positive);
      Attrs attrs = {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}, {"amsgrad", amsgrad}};
      cases.good.push_back(update(layout, variant, amsgrad ? "amsgrad" : "", attrs, 10));
      Attrs given = attrs;
      given.set("momentum_given", true);
      cases.good.push_back(update(layout, variant, amsgrad ? "amsgrad_given" : "given", given, 10));
      if (variant.name != "small_parameters") continue;
      cases.good.push_back(
          update(layout, variant, amsgrad ? "amsgrad_first_step" : "first_step", attrs, 0));
      cases.good.push_back(
          update(layout, variant, amsgrad ? "amsgrad_late" : "late", attrs, 100000));
    }
  TensorSpec lr{kFloat32, {}}, t{DType::int64, {}}, p{kFloat32, {3}}, wrong{kFloat32, {4}};
  Attrs attrs = {{"beta_1", 0.9},       {"beta_2", 0.999},  {"epsilon", 1e-7}, {"amsgrad", false},
                 {"weight_decay", 0.0}, {"clipvalue", 0.0}, {"scaled", false}};
  cases.bad = {{"a moment of another shape", attrs, {lr, t, p, p, p, wrong}},
               {"iterations of floats", attrs, {lr, lr, p, p, p, p}},
               {"an operand too many", attrs, {lr, t, p, p, p, p, p}}};
}

void add_rmsprop(OpCases& cases) {
  // v stays above mg², or centred variances would be negative.
  Fill v{1, 2}, mg{-0.5, 0.5};
  for (const Variant& variant : variants())
    for (bool centered : {false, true})
      for (double momentum : {0.0, 0.9}) {
        Layout layout{"rmsprop_update", 1, {v}};
        if (centered) layout.moments.push_back(mg);
        if (momentum > 0) layout.moments.push_back({});
        std::string name = fmt::format("{}{}", centered ? "centered" : "uncentered",
                                       momentum > 0 ? "_momentum" : "");
        Attrs attrs = {
            {"rho", 0.9}, {"momentum", momentum}, {"epsilon", 1e-7}, {"centered", centered}};
        cases.good.push_back(update(layout, variant, name, attrs, 0));
        if (momentum == 0) continue;
        attrs.set("momentum_given", true);
        cases.good.push_back(update(layout, variant, name + "_given", attrs, 0));
      }
  TensorSpec lr{kFloat32, {}}, p{kFloat32, {3}};
  Attrs attrs = {{"rho", 0.9},          {"momentum", 0.0},  {"epsilon", 1e-7}, {"centered", false},
                 {"weight_decay", 0.0}, {"clipvalue", 0.0}, {"scaled", false}};
  cases.bad = {{"no moment", attrs, {lr, p, p}},
               {"a parameter in half precision", attrs, {lr, {DType::float16, {3}}, p, p}}};
}

std::vector<double> clip_scales_scales(const OpRun& run) {
  return {largest(run.expected[0]), run.expected[1].item()};
}

void add_clip_scales(OpCases& cases) {
  for (std::string mode : {"each", "global"})
    for (double max_norm : {0.5, 100.0}) {
      Attrs attrs = {{"mode", mode}, {"max_norm", max_norm}};
      std::string name = mode + (max_norm > 1 ? "_far_below" : "_clipped");
      cases.good.push_back({name, attrs, {{{3, 5}}, {{7}}}, scaled(22, clip_scales_scales)});
      cases.good.push_back({name + "_alone", attrs, {{{17}}}, scaled(17, clip_scales_scales)});
      cases.good.push_back(
          {name + "_long", attrs, {{{2003}}, {{}}, {{64}}}, scaled(2068, clip_scales_scales)});
    }
  for (std::string mode : {"each", "global"})
    for (double scale : {1024.0, 0.25})
      cases.good.push_back({mode + (scale > 1 ? "_of_a_scaled_loss" : "_of_a_shrunk_loss"),
                            {{"mode", mode}, {"max_norm", 0.5}, {"scaled", true}},
                            {{{3, 5}}, {{7}}, {{}, {.values = {scale}}, kFloat32}},
                            scaled(22, clip_scales_scales)});
  TensorSpec g{kFloat32, {3}};
  cases.bad = {{"a norm of zero", {{"mode", "each"}, {"max_norm", 0.0}}, {g}},
               {"integers", {{"mode", "each"}, {"max_norm", 1.0}}, {{DType::int32, {3}}}},
               {"no gradients", {{"mode", "each"}, {"max_norm", 1.0}}, {}},
               {"a loss scale alone",
                {{"mode", "each"}, {"max_norm", 1.0}, {"scaled", true}},
                {{kFloat32, {}}}},
               {"no loss scale", {{"mode", "each"}, {"max_norm", 1.0}, {"scaled", true}}, {g, g}}};
}

void add_loss_scale_update(OpCases& cases) {
  Attrs attrs = {{"growth_steps", int64_t(3)}, {"min_scale", 1.0}, {"max_scale", 4096.0}};
  auto add = [&](std::string name, double norm, double scale, double good) {
    cases.good.push_back({std::move(name),
                          attrs,
                          {{{}, {.values = {norm}}, kFloat32},
                           {{}, {.values = {scale}}, kFloat32},
                           {{}, {.values = {good}}, DType::int64},
                           {{}, {.values = {7}}, DType::int64}},
                          exact()});
  };
  add("a_good_step", 2.5, 1024, 0);
  add("one_good_step_too_few", 2.5, 1024, 1);
  add("doubles", 2.5, 1024, 2);
  add("stays_at_the_largest", 2.5, 4096, 2);
  add("halves", INFINITY, 1024, 2);
  add("halves_for_nan", NAN, 1024, 2);
  add("stays_at_the_smallest", INFINITY, 1.5, 0);
  add("counts_skipped_steps_in_a_row", INFINITY, 1024, -4);
  add("a_good_step_after_skipped_ones", 2.5, 1024, -4);
  TensorSpec number{kFloat32, {}}, count{DType::int64, {}};
  cases.bad = {{"a vector of norms", attrs, {{kFloat32, {2}}, number, count, count}},
               {"no counts", attrs, {number, number}},
               {"growth after no step",
                {{"growth_steps", int64_t(0)}, {"min_scale", 1.0}, {"max_scale", 4096.0}},
                {number, number, count, count}}};
}

}  // namespace

void add_optimizer_cases(OpCaseTable& table) {
  add_sgd(table["sgd_update"]);
  add_adam(table["adam_update"]);
  add_rmsprop(table["rmsprop_update"]);
  add_clip_scales(table["clip_scales"]);
  add_loss_scale_update(table["loss_scale_update"]);
}

}  // namespace stoker::test
