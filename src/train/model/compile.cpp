#include "train/model/compile.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "train/model/model_base.h"
#include "train/model/settings.h"
#include "train/optimizers/optimizer_impl.h"

namespace stoker {

namespace {

void check_output_count(const char* what, size_t given, const std::vector<std::string>& outputs,
                        const std::string& title, const char* advice) {
  if (given != outputs.size())
    throw ValueError(fmt::format("compile: {} has {} outputs ({}), got {} {}; {}", title,
                                 outputs.size(), fmt::join(outputs, ", "), given, what, advice));
}

// By output, what was given by its name; `missing` where nothing was. ValueError for a name that no
// output has, and for one that is given twice.
template <class T>
std::vector<T> by_output(const char* what, const std::vector<std::string>& names,
                         const std::vector<T>& given, const std::vector<std::string>& outputs,
                         const T& missing, const std::string& title) {
  std::vector<T> all(outputs.size(), missing);
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    auto output = std::ranges::find(outputs, names[i]);
    if (output == outputs.end() || !seen.insert(names[i]).second)
      throw ValueError(
          fmt::format("compile: {} for output \"{}\", which {}; the outputs of {} are: {}", what,
                      names[i], output == outputs.end() ? "does not exist" : "has one already",
                      title, fmt::join(outputs, ", ")));
    all[size_t(output - outputs.begin())] = given[i];
  }
  return all;
}

std::vector<Loss> losses_of(const LossList& losses, const std::vector<std::string>& outputs,
                            const std::string& title) {
  if (losses.list().empty()) return std::vector<Loss>(outputs.size());
  if (!losses.names().empty() && losses.names().size() != losses.list().size())
    throw ValueError("compile: some losses have the names of outputs and some have none; name all");
  if (!losses.names().empty())
    return by_output("a loss", losses.names(), losses.list(), outputs, Loss(), title);
  if (losses.for_every_output()) return {outputs.size(), losses.list()[0]};
  check_output_count(
      "losses", losses.list().size(), outputs, title,
      "list one for each output, or give one alone for all of them: .loss = \"mse\"");
  return losses.list();
}

std::vector<double> loss_weights_of(const LossWeights& weights,
                                    const std::vector<std::string>& outputs,
                                    const std::string& title) {
  if (weights.empty()) return std::vector<double>(outputs.size(), 1.0);
  if (!weights.names().empty())
    return by_output("a loss weight", weights.names(), weights.list(), outputs, 1.0, title);
  check_output_count("loss weights", weights.list().size(), outputs, title,
                     "list one for each output");
  return weights.list();
}

void check_loss(const Loss& loss) {
  if (loss.defined() && loss.reduction() == "none")
    throw ValueError(
        fmt::format("compile: {} with the reduction \"none\" gives one loss per element, and fit "
                    "trains by one number; take sum_over_batch_size or sum, or write an own loop",
                    loss.kind()));
}

void check_weights(const std::vector<double>& weights) {
  for (double weight : weights)
    if (!std::isfinite(weight))
      throw ValueError(fmt::format("compile: a loss weight is {}", weight));
}

// A softmax over one class is 1, and its loss 0, whatever the weights are.
void check_classes(const ModelBase& model, const std::vector<Loss>& losses) {
  const Topology& topology = model.topology("compile");
  for (size_t i = 0; i < losses.size(); ++i) {
    bool classes = losses[i].kind() == "CategoricalCrossentropy" ||
                   losses[i].kind() == "SparseCategoricalCrossentropy" ||
                   losses[i].kind() == "CategoricalFocalCrossentropy";
    const Shape& shape = topology.outputs[i].shape();
    if (classes && shape.rank() > 1 && shape[-1] == 1)
      throw ValueError(fmt::format(
          "compile: {} of output \"{}\", {}: expected one value per class in the last axis, got 1; "
          "use binary_crossentropy and a sigmoid",
          losses[i].kind(), topology.output_names[i], to_string(shape)));
  }
}

// Metrics compare predictions with targets, which only outputs with a loss have.
void check_metrics(const std::vector<Metric>& metrics, const std::vector<std::string>& outputs,
                   const std::vector<std::string>& judged) {
  for (const Metric& metric : metrics) {
    bool known = std::ranges::find(outputs, metric.output()) != outputs.end();
    bool has_target = std::ranges::find(judged, metric.output()) != judged.end();
    if (judged.empty() || (known && !has_target))
      throw ValueError(fmt::format(
          "compile: metric \"{}\" needs targets, and {} has no loss, so that there are none; give "
          "it a loss",
          metric.name(),
          judged.empty() ? "the model" : fmt::format("output \"{}\"", metric.output())));
  }
}

// Whether anything in the model computes in float16, as far as policies say.
bool uses_float16(const ModelBase& model, const Context& context) {
  if (compute_dtype(context.policy) == DType::float16) return true;
  return std::ranges::any_of(model.leaves(), [](const auto& layer) {
    return !layer->dtype_policy().empty() && compute_dtype(layer->dtype_policy()) == DType::float16;
  });
}

std::vector<std::string> layer_policies(const ModelBase& model) {
  std::vector<std::string> policies;
  for (const auto& layer : model.leaves()) policies.push_back(layer->dtype_policy());
  return policies;
}

}  // namespace

void compile_model(ModelBase& model, const CompileArgs& args) {
  Trainer& trainer = trainer_of(model);
  Use use(trainer.gate, "compile", UseMode::alone);
  if (trainer.busy) throw Error("compile: this model is being trained");
  if (!args.optimizer.defined()) throw ValueError("compile: no optimizer was given");
  for (const Loss& loss : args.loss.list()) check_loss(loss);
  check_weights(args.loss_weights.list());
  Context& context = args.context ? *args.context : default_context();
  check_settings(context);

  auto compiled = std::make_unique<Compiled>();
  compiled->args = args;
  std::swap(trainer.compiled, compiled);
  try {
    finish_compile(model);
  } catch (...) {
    std::swap(trainer.compiled, compiled);
    throw;
  }
  trainer.context = &context;
  trainer.programs.clear();
  trainer.lanes.clear();
  trainer.distribution = make_distribution();
  bool own_steps = args.train_step.defined() || args.test_step.defined();
  if (own_steps && trainer.distribution != nullptr) {
    trainer.compiled.reset();
    throw Error(
        "compile: train_step and test_step run on one device; compile outside of the strategy, or "
        "with a loss in place of the steps");
  }
  trainer.generator.reset();
  say_settings_without_effect(context, layer_policies(model));
  trainer.traced_call.reset();
  if (!trainer.random_state.defined()) {
    trainer.seed = trainer.context->seed.value();
    if (trainer.distribution) trainer.seed = trainer.distribution->agreed(trainer.seed);
    trainer.random_state = make_random_state("random_state", trainer.seed, kDropoutPurpose);
  }
}

void finish_compile(ModelBase& model) {
  Compiled& compiled = *model.trainer->compiled;
  if (compiled.training || !model.connected()) return;
  const std::vector<std::string>& outputs = model.topology("compile").output_names;
  compiled.losses = losses_of(compiled.args.loss, outputs, model.title());
  check_classes(model, compiled.losses);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (compiled.losses[i].defined()) compiled.judged.push_back(i);
  compiled.loss_weights = loss_weights_of(compiled.args.loss_weights, outputs, model.title());
  compiled.trainable = model.trainable_weights();
  compiled.weights = model.weights();
  for (const auto& layer : model.leaves())
    compiled.trainable_layers.emplace_back(layer, layer->trainable());
  const Context* context = compiled.args.context;
  bool own_training = compiled.args.train_step.defined();  // it applies optimisers by itself
  if (!own_training && uses_float16(model, context ? *context : default_context()))
    enable_loss_scale(compiled.args.optimizer, {});
  if (!own_training) compiled.args.optimizer.build(compiled.trainable);
  MetricLists metrics{compiled.args.metrics.list(), compiled.args.weighted_metrics.list()};
  std::vector<Shape> shapes;
  std::vector<std::string> judged;
  for (size_t i : compiled.judged) {
    shapes.push_back(model.topology("compile").outputs[i].shape());
    judged.push_back(outputs[i]);
  }
  check_metrics(metrics.plain, outputs, judged);
  check_metrics(metrics.weighted, outputs, judged);
  std::vector<std::string> beside = model.losses_beside();
  auto make_sums = [&](const OwnStep& own) {
    return own.defined() ? std::make_shared<MetricSet>()
                         : std::make_shared<MetricSet>(metrics, judged, shapes, beside);
  };
  std::shared_ptr<MetricSet> evaluation = make_sums(compiled.args.test_step);
  compiled.training = make_sums(compiled.args.train_step);
  compiled.evaluation = std::move(evaluation);
}

}  // namespace stoker
