// Dynamic loss scaling: its variables, and the nodes that read and move them. docs/design/007 says
// when a step is skipped and when it is an error.
#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/graph.h"
#include "train/optimizers/optimizer_impl.h"

namespace stoker {

namespace {

constexpr Variable::Options kState = {.trainable = false, .category = MemoryCategory::optimizer};

int64_t integer(const Variable& variable) { return variable.read().data<int64_t>()[0]; }

}  // namespace

void Optimizer::Impl::make_loss_scale() {
  if (!config.has("initial_scale")) return;
  auto scale = float(config.get<double>("initial_scale"));
  Tensor zero = Tensor::zeros({}, DType::int64);
  loss_scale = {.scale = Variable(name() + "/loss_scale", Tensor(scale), kState),
                .good_steps = Variable(name() + "/good_steps", zero, kState),
                .skipped_steps = Variable(name() + "/skipped_steps", zero, kState)};
}

Value Optimizer::Impl::append_loss_scale(Graph& graph, const Value& norm) {
  Values next =
      stoker::apply("loss_scale_update",
                    {norm, loss_scale.scale, loss_scale.good_steps, loss_scale.skipped_steps},
                    {{"growth_steps", config.get<int64_t>("dynamic_growth_steps")},
                     {"min_scale", LossScale::kMin},
                     {"max_scale", LossScale::kMax}});
  graph.assign(loss_scale.scale, next[0], Assign::always);
  graph.assign(loss_scale.good_steps, next[1], Assign::always);
  graph.assign(loss_scale.skipped_steps, next[2], Assign::always);
  // Not finite where a scale cannot become smaller.
  graph.guard(graph.guard() < 0 ? next[3] : graph.value(graph.guard()) + next[3]);
  if (graph.gate() >= 0) return norm;
  graph.gate(norm);
  return {};
}

void enable_loss_scale(const Optimizer& optimizer, const LossScaleOptions& options) {
  if (!optimizer.scales_loss()) LossScaleOptimizer(optimizer, options);
}

LossScaleOptimizer::LossScaleOptimizer(const Optimizer& inner, const LossScaleOptions& options)
    : Optimizer(inner) {
  if (!inner.defined()) throw ValueError("LossScaleOptimizer: no optimizer was given");
  Attrs config = impl_->config;
  config.set("initial_scale", options.initial_scale);
  config.set("dynamic_growth_steps", options.dynamic_growth_steps);
  const LearningRateSchedule& schedule = impl_->schedule;
  LearningRate rate =
      schedule.defined() ? LearningRate(schedule) : config.get<double>("learning_rate");
  impl_->config = complete_optimizer_config(*impl_->kind, config, &rate).options;
  impl_->make_loss_scale();
}

bool Optimizer::scales_loss() const { return bool(impl_->loss_scale); }

Value Optimizer::scale_loss(const Value& loss) const {
  // In float32: float16 ends at twice the scale that training starts with.
  return scales_loss() ? ops::cast(loss, DType::float32) * Value(impl_->loss_scale.scale) : loss;
}

double Optimizer::loss_scale() const {
  return scales_loss() ? impl_->loss_scale.scale.read().item() : 1.0;
}

int64_t Optimizer::skipped_steps() const {
  return scales_loss() ? integer(impl_->loss_scale.skipped_steps) : 0;
}

std::string loss_scale_warning(const Optimizer& optimizer) {
  if (!optimizer.scales_loss()) return "";
  constexpr size_t kGoodSteps = 3;  // in variables(): learning rate, iterations, scale, good steps
  int64_t in_a_row = -integer(optimizer.variables()[kGoodSteps]);
  double scale = optimizer.loss_scale();
  if (in_a_row < LossScale::kSkippedInARow && scale > LossScale::kMin) return "";
  std::string what =
      scale <= LossScale::kMin
          ? fmt::format("the loss scale has fallen to its floor of {}", scale)
          : fmt::format("the last {} steps were skipped (loss scale {})", in_a_row, scale);
  return fmt::format(
      "warning: {}; {} steps skipped so far, because gradients are beyond float16. Lower the "
      "learning rate, clip gradients, scale the input, or take mixed_bfloat16",
      what, optimizer.skipped_steps());
}

}  // namespace stoker
