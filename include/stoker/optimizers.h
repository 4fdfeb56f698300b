// Optimisers, by Keras's names, options and defaults. An Optimizer is a value handle: copies share
// one learning rate, one step count and one set of moments. Its name is an Optimizer too: "adam".
//
// The learning rate is a variable, or a schedule that the step computes from its iterations:
// neither ever recompiles a step. One update node moves all parameters at once, after clipping. Not
// thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/schedules.h>
#include <stoker/value.h>

namespace stoker {

class Optimizer {
 public:
  Optimizer() = default;  // none: defined() is false
  Optimizer(const char* name) : Optimizer(std::string(name)) {}
  Optimizer(const std::string& name);  // Keras's defaults; ValueError lists the names
  // From what kind() and config() gave; ValueError for an unknown kind, option or value.
  static Optimizer from_config(const std::string& kind, const Attrs& config);
  // The same with this rate in place of the configuration's.
  static Optimizer from_config(const std::string& kind, Attrs config, const LearningRate& rate);

  bool defined() const { return impl_ != nullptr; }
  const std::string& kind() const;  // "Adam"
  const std::string& name() const;  // "adam"
  const Attrs& config() const;

  double learning_rate() const;                  // of the next update; reads the device
  void set_learning_rate(double value) const;    // Error where a schedule decides
  const LearningRateSchedule& schedule() const;  // undefined where there is none
  int64_t iterations() const;                    // updates made so far; reads the device
  void set_iterations(int64_t value) const;

  // Appends clipping, the update and its assignments to the graph of the gradients. Inside
  // function() or a model's own step; makes the moments that are missing.
  void apply(const Values& gradients, const std::vector<Variable>& variables) const;

  // --- dynamic loss scaling, where it is on: see LossScaleOptimizer ---
  bool scales_loss() const;
  // For an own loop: gradients(optimizer.scale_loss(loss), …). The loss itself where it is off.
  Value scale_loss(const Value& loss) const;
  double loss_scale() const;      // now; 1 where it is off; reads the device
  int64_t skipped_steps() const;  // updates left out so far; reads the device

  // Learning rate (a schedule's: that of the last update), iterations, the three of loss scaling
  // where it is on, then the moments in the order in which they were made.
  std::vector<Variable> variables() const;
  // The moments of one parameter, then its gradient sum where gradients are accumulated.
  std::vector<Variable> slots(const Variable& parameter) const;
  // Makes the moments of these parameters, so that variables() is complete before the first step.
  void build(const std::vector<Variable>& parameters) const;

  // Every n-th batch updates, with the mean of n gradients; 1: every batch does.
  int64_t gradient_accumulation_steps() const;
  int64_t accumulated_batches() const;  // since the last update
  void set_accumulated_batches(int64_t count) const;

  friend bool operator==(const Optimizer& a, const Optimizer& b) { return a.impl_ == b.impl_; }
  const void* id() const { return impl_.get(); }

 protected:
  struct Impl;
  static Optimizer make(const std::string& kind, const Attrs& config,
                        const LearningRateSchedule& schedule);
  explicit Optimizer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// Of clipnorm (each gradient), clipvalue (each element) and global_clipnorm (all gradients
// together) at most one may be set. weight_decay is decoupled: p ← p − learning_rate · weight_decay
// · p.

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "SGD";
};
class SGD : public Optimizer {
 public:
  explicit SGD(const SGDOptions& options = {});
};

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "adam";
};
class Adam : public Optimizer {
 public:
  explicit Adam(const AdamOptions& options = {});
};

struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  std::optional<double> weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "adamw";
};
class AdamW : public Optimizer {
 public:
  explicit AdamW(const AdamWOptions& options = {});
};

struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "rmsprop";
};
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(const RMSpropOptions& options = {});
};

// Dynamic loss scaling, as Keras's LossScaleOptimizer: the loss is multiplied before it is
// differentiated, so that small gradients survive float16; the update divides again. A step with a
// gradient that is not finite is skipped, without counting in iterations(), and the scale halves;
// after `dynamic_growth_steps` good steps in a row it doubles. All of that happens on the device.
// The scale stays within [1, 2^24]. compile() turns it on by itself under "mixed_float16".
struct LossScaleOptions {
  double initial_scale = 32768;
  int64_t dynamic_growth_steps = 2000;
};
class LossScaleOptimizer : public Optimizer {
 public:
  // The same optimiser (copies share it), from now on with loss scaling.
  explicit LossScaleOptimizer(const Optimizer& inner, const LossScaleOptions& options = {});
};

}  // namespace stoker
