#include "train/compile.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "train/model_base.h"
#include "train/optimizer_impl.h"

namespace stoker {

namespace {

template <class T>
std::vector<T> for_each_output(const char* what, std::vector<T> given, size_t outputs,
                               const std::string& title) {
  if (given.size() == 1) given.resize(outputs, given[0]);
  if (given.size() != outputs)
    throw ValueError(
        fmt::format("compile: {} has {} outputs, got {} {}", title, outputs, given.size(), what));
  return given;
}

void check_weights(const std::vector<double>& weights) {
  for (double weight : weights)
    if (!std::isfinite(weight))
      throw ValueError(fmt::format("compile: a loss weight is {}", weight));
}

// Whether anything in the model computes in float16, as far as policies say.
bool uses_float16(const ModelBase& model, const Context& context) {
  if (compute_dtype(context.policy) == DType::float16) return true;
  return std::ranges::any_of(model.leaves(), [](const auto& layer) {
    return !layer->dtype_policy().empty() && compute_dtype(layer->dtype_policy()) == DType::float16;
  });
}

}  // namespace

void compile_model(ModelBase& model, const CompileArgs& args) {
  Trainer& trainer = trainer_of(model);
  if (trainer.busy) throw Error("compile: this model is being trained");
  if (!args.optimizer.defined()) throw ValueError("compile: no optimizer was given");
  if (args.loss.list().empty()) throw ValueError("compile: no loss was given");
  for (const Loss& loss : args.loss.list())
    if (!loss.defined()) throw ValueError("compile: one of the losses is undefined");
  check_weights(args.loss_weights);

  auto compiled = std::make_unique<Compiled>();
  compiled->args = args;
  std::swap(trainer.compiled, compiled);
  try {
    finish_compile(model);
  } catch (...) {
    std::swap(trainer.compiled, compiled);
    throw;
  }
  trainer.context = args.context ? args.context : &default_context();
  trainer.programs.clear();
  trainer.training_call.reset();
  if (!trainer.random_state.defined()) {
    trainer.seed = trainer.context->seed.value();
    trainer.random_state = make_random_state("random_state", trainer.seed, kDropoutPurpose);
  }
}

void finish_compile(ModelBase& model) {
  Compiled& compiled = *model.trainer->compiled;
  if (compiled.training || !model.connected()) return;
  const std::vector<std::string>& outputs = model.topology("compile").output_names;
  compiled.losses =
      for_each_output("losses", compiled.args.loss.list(), outputs.size(), model.title());
  std::vector<double> weights = compiled.args.loss_weights;
  if (weights.empty()) weights = {1.0};
  compiled.loss_weights = for_each_output("loss weights", weights, outputs.size(), model.title());
  compiled.trainable = model.trainable_weights();
  compiled.weights = model.weights();
  for (const auto& layer : model.leaves())
    compiled.trainable_layers.emplace_back(layer, layer->trainable());
  const Context* context = compiled.args.context;
  if (uses_float16(model, context ? *context : default_context()))
    enable_loss_scale(compiled.args.optimizer, {});
  compiled.args.optimizer.build(compiled.trainable);
  auto evaluation = std::make_shared<MetricSet>(compiled.args.metrics, outputs);
  compiled.training = std::make_shared<MetricSet>(compiled.args.metrics, outputs);
  compiled.evaluation = std::move(evaluation);
}

}  // namespace stoker
