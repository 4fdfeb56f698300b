// Optimisers, by Keras's names, options and defaults. An Optimizer is a value handle: copies share
// one learning rate, one step count and one set of slots. Its name is an Optimizer too: "adam".
//
// The learning rate is a variable, or a schedule that the step computes from its iterations:
// neither ever recompiles a step. Every rule is written with ops; SGD, Adam, AdamW and RMSprop run
// on kernels of their own that update all parameters at once. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/schedules.h>
#include <stoker/value.h>

namespace stoker {

struct OptimizerRule;
struct OptimizerOptions;

class Optimizer {
 public:
  Optimizer() = default;  // none: defined() is false
  Optimizer(const char* name) : Optimizer(std::string(name)) {}
  Optimizer(const std::string& name);  // Keras's defaults; ValueError lists the names
  // An own one: see OptimizerRule. load_model takes it from custom_objects, by its kind.
  explicit Optimizer(const OptimizerRule& rule);
  Optimizer(const OptimizerRule& rule, const OptimizerOptions& options);
  // From what kind() and config() gave; ValueError for an unknown kind, option or value.
  static Optimizer from_config(const std::string& kind, const Attrs& config);
  // The same with this rate in place of the configuration's.
  static Optimizer from_config(const std::string& kind, const Attrs& config,
                               const LearningRate& rate);
  // A new optimiser of the same kind, with nothing of its state; as from_config, own ones too.
  Optimizer with_config(const Attrs& config) const;
  Optimizer with_config(const Attrs& config, const LearningRate& rate) const;

  bool defined() const { return impl_ != nullptr; }
  bool custom() const;              // made from an OptimizerRule
  const std::string& kind() const;  // "Adam"
  const std::string& name() const;  // "adam"
  const Attrs& config() const;

  double learning_rate() const;                  // of the next update; reads the device
  void set_learning_rate(double value) const;    // Error where a schedule decides
  const LearningRateSchedule& schedule() const;  // undefined where there is none
  int64_t iterations() const;                    // updates made so far; reads the device
  void set_iterations(int64_t value) const;

  // Appends clipping, the update and its assignments to the graph of the gradients. Inside
  // function() or a model's own step; makes the slots that are missing.
  void apply(const Values& gradients, const std::vector<Variable>& variables) const;

  // Parameters that weight decay leaves alone: these, and those whose names a regular expression
  // among `var_names` finds ("bias", "gamma|beta"). Replaces what was excluded before; files keep
  // it. Error once the optimiser has slots, ValueError for a malformed expression.
  void exclude_from_weight_decay(const std::vector<Variable>& var_list,
                                 const std::vector<std::string>& var_names = {}) const;

  // --- moving averages, where use_ema is set ---
  bool use_ema() const;
  // The average of each parameter, by slots(): Error where there are none.
  Variable average(const Variable& parameter) const;
  void swap_averages() const;                   // exchanges parameters and averages
  bool averages_in_use() const;                 // after an odd number of swaps
  void set_averages_in_use(bool in_use) const;  // for what restores both from a file
  // The parameters become their averages, as Keras's finalize_variable_values.
  void use_averages() const;

  // --- dynamic loss scaling, where it is on: see LossScaleOptimizer ---
  bool scales_loss() const;
  // For an own loop: gradients(optimizer.scale_loss(loss), …). The loss itself where it is off.
  Value scale_loss(const Value& loss) const;
  double loss_scale() const;      // now; 1 where it is off; reads the device
  int64_t skipped_steps() const;  // updates left out so far; reads the device

  // Learning rate (a schedule's: that of the last update), iterations, the three of loss scaling
  // where it is on, then the slots in the order in which they were made.
  std::vector<Variable> variables() const;
  // The slots of one parameter, then its average with use_ema, then its gradient sum where
  // gradients are accumulated.
  std::vector<Variable> slots(const Variable& parameter) const;
  // Makes the slots of these parameters, so that variables() is complete before the first step.
  void build(const std::vector<Variable>& parameters) const;

  // Every n-th batch updates, with the mean of n gradients; 1: every batch does.
  int64_t gradient_accumulation_steps() const;
  int64_t accumulated_batches() const;  // since the last update
  void set_accumulated_batches(int64_t count) const;

  friend bool operator==(const Optimizer& a, const Optimizer& b) { return a.impl_ == b.impl_; }
  const void* id() const { return impl_.get(); }

 protected:
  struct Impl;
  explicit Optimizer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// Of clipnorm (each gradient), clipvalue (each element) and global_clipnorm (all gradients
// together) at most one may be set. weight_decay is decoupled: p ← p − learning_rate · weight_decay
// · p.
//
// use_ema keeps a moving average of every parameter: average ← ema_momentum · average + (1 −
// ema_momentum) · p after each update, beginning with the first p. The parameters become their
// averages after every ema_overwrite_frequency updates, and when fit ends. SwapEMAWeights
// (more_callbacks.h) evaluates with them in between.

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
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
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
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
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
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
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "rmsprop";
};
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(const RMSpropOptions& options = {});
};

struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "adagrad";
};
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(const AdagradOptions& options = {});
};

struct LionOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.99;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "lion";
};
class Lion : public Optimizer {
 public:
  explicit Lion(const LionOptions& options = {});
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

// --- own optimisers --------------------------------------------------------------------------
//
// A kind of optimiser: its options, the state that it keeps and its rule, written with ops.
//
//   OptimizerRule sign_descent{
//       .kind = "SignDescent",
//       .options = {{"beta", 0.9}},
//       .slots = {{"momentum"}},
//       .update = [](const RuleInput& at) -> RuleOutput {
//         double beta = at.options.get<double>("beta");
//         Value m = at.slots[0] * beta + at.gradient * (1 - beta);
//         return {at.parameter - at.learning_rate * ops::sign(m), {m}};
//       }};
//   Optimizer mine(sign_descent, {.learning_rate = 1e-3, .clipnorm = 1});
//
// Schedules, clipping, weight decay, accumulation, loss scaling, skipped steps and files work as
// for every other optimiser: the rule sees what is left to do for one parameter.

// State beside a parameter, float32.
struct OptimizerSlot {
  std::string name;  // in files and variables(): "momentum"
  double initial = 0.0;
  std::optional<Shape> shape = {};  // default: the parameter's
};

// One parameter in one update. All Values are float32, but for the iterations.
struct RuleInput {
  const Variable& variable;  // the parameter, for rules that ask for its name or shape
  const Attrs& options;      // the whole configuration, the rule's own options included
  Value parameter;           // after weight decay
  Value gradient;            // accumulated, clipped, and without the loss scale
  Values slots;              // in the order of OptimizerRule::slots
  Value learning_rate;       // []
  Value momentum;    // the option that OptimizerRule::momentum names: its number, or [] from
                     // a schedule that cycles it; undefined where there is none
  Value iterations;  // int64 []: updates before this one
};

struct RuleOutput {
  Value parameter;
  Values slots = {};  // as many as the input has
};

// The slots of a kind: the same for all parameters, or a function of the parameter.
class OptimizerSlots {
 public:
  using Function =
      std::function<std::vector<OptimizerSlot>(const Variable& parameter, const Attrs& options)>;
  OptimizerSlots() = default;  // none
  OptimizerSlots(std::initializer_list<OptimizerSlot> slots)
      : function_([list = std::vector(slots)](const Variable&, const Attrs&) { return list; }) {}
  OptimizerSlots(Function function) : function_(std::move(function)) {}

  std::vector<OptimizerSlot> of(const Variable& parameter, const Attrs& options) const {
    return function_ ? function_(parameter, options) : std::vector<OptimizerSlot>();
  }

 private:
  Function function_;
};

struct OptimizerRule {
  std::string kind;    // its name in files
  Attrs options = {};  // of its own, with their values; files keep them
  OptimizerSlots slots = {};
  std::function<RuleOutput(const RuleInput&)> update;
  std::string momentum = "";  // the option that OneCycle may move; a "momentum" of 0 stays 0
};

// What every optimiser takes besides.
struct OptimizerOptions {
  LearningRate learning_rate = 0.001;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "";  // default: the kind
};

}  // namespace stoker
