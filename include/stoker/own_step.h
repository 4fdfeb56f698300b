// Own steps inside of fit: Keras's train_step and test_step. A step is a function of the tensors of a
// batch, traced once per set of their specs, compiled into one program and replayed, as function() does
// (function.h). It computes losses, applies any number of optimisers to the weights of any number of
// models, and returns what the logs show:
//
//   auto step = [&](Value real) -> StepLogs {
//     Value judged = …, fooled = …;
//     judge_adam.apply(gradients(judged, judge.trainable_variables()), judge.trainable_variables());
//     adam.apply(gradients(fooled, generator.trainable_variables()), generator.trainable_variables());
//     return {{"judged", judged}, {"fooled", fooled}};
//   };
//   gan.compile({.optimizer = adam, .train_step = step});
//   gan.fit(pictures, {}, {.epochs = 20, .callbacks = {BackupAndRestore("run")}});
//
// fit does the rest: callbacks, validation, history, progress, checkpoints of everything that the step
// updates, with exact resume. A step whose numbers or gradients are not finite leaves everything as it
// was and ends the fit with a NonFiniteError.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/function.h>
#include <stoker/metrics.h>
#include <stoker/value.h>

namespace stoker {

// What a step adds to the logs under a name: a scalar, of which they show the mean over the samples so
// far, or a Metric that the step updates, which fit resets where an epoch or an evaluation begins.
class StepLog {
 public:
  StepLog(std::string name, const Value& scalar) : name_(std::move(name)), value_(scalar) {}
  StepLog(std::string name, const Metric& metric) : name_(std::move(name)), metric_(metric) {}
  StepLog(const Metric& metric) : name_(metric.name()), metric_(metric) {}
  const std::string& name() const { return name_; }
  const Value& value() const { return value_; }  // undefined: it is a metric
  const std::optional<Metric>& metric() const { return metric_; }

 private:
  std::string name_;
  Value value_;
  std::optional<Metric> metric_;
};
using StepLogs = std::vector<StepLog>;

template <class F>
concept TakesWholeBatch = std::is_invocable_v<F&, const Values&>;

// A function of Values, one for each tensor of a batch: inputs, then targets, then sample weights; or a
// function of `const Values&`, all of them. Returns StepLogs, or one Value, which is the "loss". What it
// refers to must outlive the model's compile().
class OwnStep {
 public:
  OwnStep() = default;  // none
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, OwnStep>) OwnStep(F body) {
    if constexpr (TakesWholeBatch<F>) {
      body_ = [body = std::move(body)](const Values& batch) mutable { return logs(body(batch)); };
    } else {
      constexpr size_t kArity = detail::Signature<F>::kArity;
      arity_ = kArity;
      body_ = [body = std::move(body)](const Values& batch) mutable {
        return call(body, batch, std::make_index_sequence<kArity>());
      };
    }
  }
  bool defined() const { return body_ != nullptr; }
  const std::optional<size_t>& arity() const { return arity_; }  // none: any number of tensors
  // Runs the body: batch has arity() values, all traced.
  StepLogs operator()(const Values& batch) const { return body_(batch); }

 private:
  template <class F, size_t... I>
  static StepLogs call(F& body, const Values& batch, std::index_sequence<I...>) {
    return logs(body(batch[I]...));
  }
  static StepLogs logs(StepLogs given) { return given; }
  static StepLogs logs(const Value& loss) { return {{"loss", loss}}; }

  std::function<StepLogs(const Values&)> body_;
  std::optional<size_t> arity_;
};

}  // namespace stoker
