// Muon: matrices move by their momentum made orthogonal, everything else by AdamW.
#include <algorithm>
#include <cctype>
#include <cmath>

#include <stoker/ops.h>

#include "train/optimizers/optimizer_impl.h"

namespace stoker {

namespace {

Fields<MuonOptions> muon_fields() {
  using C = MuonOptions;
  return {{"adam_beta_1", &C::adam_beta_1, in_half_open(0, 1)},
          {"adam_beta_2", &C::adam_beta_2, in_half_open(0, 1)},
          {"adam_weight_decay", &C::adam_weight_decay, at_least(0)},
          {"epsilon", &C::epsilon, above(0)},
          {"exclude_layers", &C::exclude_layers},
          {"exclude_embeddings", &C::exclude_embeddings},
          {"muon_a", &C::muon_a},
          {"muon_b", &C::muon_b},
          {"muon_c", &C::muon_c},
          {"adam_lr_ratio", &C::adam_lr_ratio, at_least(0)},
          {"momentum", &C::momentum, in_half_open(0, 1)},
          {"ns_steps", &C::ns_steps, at_least(1)},
          {"nesterov", &C::nesterov},
          {"rms_rate", &C::rms_rate, at_least(0)}};
}

bool moves_by_adam(const Variable& parameter, const Attrs& options) {
  if (parameter.shape().rank() != 2) return true;
  std::string name = parameter.name(), pattern = options.get<std::string>("exclude_layers");
  if (!pattern.empty() && std::regex_search(name, checked_regex("muon", pattern))) return true;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return options.get<bool>("exclude_embeddings") && name.find("embedding") != std::string::npos;
}

std::vector<OptimizerSlot> muon_slots(const Variable& parameter, const Attrs& options) {
  if (moves_by_adam(parameter, options)) return {{"momentum"}, {"velocity"}};
  return {{"momentum"}};
}

double muon_decay(const Variable& parameter, const Attrs& options) {
  bool adam = moves_by_adam(parameter, options);
  return options.get_or(adam ? "adam_weight_decay" : "weight_decay", 0.0);
}

// Newton and Schulz's iteration: the singular values of the matrix go to about 1.
Value orthogonalized(const Value& matrix, const Attrs& options) {
  auto option = [&](const char* name) { return options.get<double>(name); };
  bool tall = matrix.shape()[0] > matrix.shape()[1];
  Value x = tall ? ops::transpose(matrix, {1, 0}) : matrix;
  x = x / (ops::sqrt(ops::sum(ops::square(x))) + 1e-7);
  for (int64_t step = 0; step < options.get<int64_t>("ns_steps"); ++step) {
    Value gram = ops::matmul(x, x, {.transpose_b = true});
    Value polynomial = gram * option("muon_b") + ops::matmul(gram, gram) * option("muon_c");
    x = x * option("muon_a") + ops::matmul(polynomial, x);
  }
  return tall ? ops::transpose(x, {1, 0}) : x;
}

RuleOutput by_matrix(const RuleInput& at) {
  Value m = at.slots[0] * at.momentum + at.gradient;
  bool nesterov = at.options.get<bool>("nesterov");
  Value update = orthogonalized(nesterov ? at.gradient + m * at.momentum : m, at.options);
  const Shape& shape = at.variable.shape();
  double rms_rate = at.options.get_or("rms_rate", 0.0);
  double scale = rms_rate > 0 ? std::sqrt(double(std::max(shape[0], shape[1]))) * rms_rate : 1;
  return {at.parameter - at.learning_rate * update * scale, {m}};
}

RuleOutput by_adam(const RuleInput& at) {
  auto option = [&](const char* name) { return at.options.get<double>(name); };
  double beta_1 = option("adam_beta_1"), beta_2 = option("adam_beta_2");
  Value t = ops::cast(at.iterations, DType::float32) + 1.0;
  Value rate = at.learning_rate * option("adam_lr_ratio") * ops::sqrt(one_minus_power(beta_2, t)) /
               one_minus_power(beta_1, t);
  const Value& g = at.gradient;
  Value m = at.slots[0] + (g - at.slots[0]) * (1 - beta_1);
  Value v = at.slots[1] + (ops::square(g) - at.slots[1]) * (1 - beta_2);
  return {at.parameter - rate * m / (ops::sqrt(v) + option("epsilon")), {m, v}};
}

RuleOutput muon(const RuleInput& at) { return at.slots.size() == 2 ? by_adam(at) : by_matrix(at); }

// None is written as 0, because the defaults are others.
MuonOptions decided_muon(MuonOptions options) {
  options.weight_decay = options.weight_decay.value_or(0.0);
  options.adam_weight_decay = options.adam_weight_decay.value_or(0.0);
  options.rms_rate = options.rms_rate.value_or(0.0);
  return options;
}

}  // namespace

OptimizerKind muon_kind() {
  OptimizerKind kind = optimizer_kind(
      {.kind = "Muon", .slots = {muon_slots}, .update = muon, .momentum = "momentum"},
      muon_fields());
  kind.decay = muon_decay;
  return kind;
}

Muon::Muon(const MuonOptions& options)
    : Optimizer(from_config("Muon", optimizer_fields(muon_fields()).write(decided_muon(options)),
                            options.learning_rate)) {}

}  // namespace stoker
