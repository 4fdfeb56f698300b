// The inside of an Optimizer: its kind, and the variables that outlive a step.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <stoker/optimizers.h>

#include "train/optimizers/optimizer_kinds.h"

namespace stoker {

// The state of dynamic loss scaling; undefined variables where it is off.
struct LossScale {
  static constexpr double kMin = 1, kMax = 16777216;  // 2^24, as apex has it
  static constexpr int64_t kSkippedInARow = 10;       // so many are worth a warning
  Variable scale;                                     // float32 []
  Variable good_steps;     // int64 []: since the scale last changed; -n: n skipped in a row
  Variable skipped_steps;  // int64 []: in all

  explicit operator bool() const { return scale.defined(); }
  std::vector<Variable> variables() const {
    return *this ? std::vector{scale, good_steps, skipped_steps} : std::vector<Variable>();
  }
};

// The option that exclude_from_weight_decay() adds: a regular expression for names of parameters.
inline constexpr const char* kExclusions = "exclude_from_weight_decay";

// ValueError for what is no regular expression; `who` is the optimiser's name.
std::regex checked_regex(const std::string& who, const std::string& expression);

struct Optimizer::Impl {
  std::shared_ptr<const OptimizerKind> kind;
  Attrs config;  // complete: every option but those that are off
  double clipnorm = 0, clipvalue = 0, global_clipnorm = 0, weight_decay = 0;  // 0: off
  std::set<const void*> excluded;  // from weight decay, by Variable::id()
  std::optional<std::regex> excluded_names;
  bool use_ema = false;
  double ema_momentum = 0;
  int64_t ema_overwrite_frequency = 0;  // 0: never
  bool averages_in_use = false;  // the averages hold the parameters' contents, and these theirs
  int64_t accumulation_steps = 1;
  int64_t accumulated = 0;  // batches since the last update

  LearningRateSchedule schedule;  // may be undefined
  Variable learning_rate;         // float32 []
  Variable iterations;            // int64 []
  LossScale loss_scale;
  struct Slots {
    Variable parameter;
    std::vector<Variable> own;  // as the kind lists them
    Variable average;           // defined with use_ema
    Variable gradient_sum;      // defined when gradients are accumulated
  };
  std::vector<Slots> slots;                  // in the order of creation
  std::map<const void*, size_t> slot_index;  // parameter → slots

  // rate: counts instead of the configuration's; may be null.
  Impl(std::shared_ptr<const OptimizerKind> kind, const Attrs& config,
       const LearningRate* rate = nullptr);
  const std::string& name() const { return config.get<std::string>("name"); }
  Slots& slots_of(const Variable& parameter);
  double decay_of(const Variable& parameter) const;  // 0: none
  // From the configuration, if it asks for it.
  void make_loss_scale();
  struct Scales {
    Value factors;  // of each gradient: clipping, and what undoes the loss scale; undefined: all 1
    Value gate;     // not finite: this update is skipped; undefined: the graph's gate decides
  };
  Scales append_scales(Graph& graph, const Values& gradients);
  // The first loss scale of a graph closes its gate on gradients that are not finite, so that
  // updates in place are skipped; a later one returns a gate of its own.
  Value append_loss_scale(Graph& graph, const Value& norm);
  // Clipping, the rule and its assignments; iterations + 1.
  void append_update(Graph& graph, const Values& gradients,
                     const std::vector<Variable>& parameters);

 private:
  // What the rule reads besides parameters, gradients and slots.
  struct Rates {
    Value learning_rate, momentum;
    bool cycles = false;  // momentum comes from the schedule
  };
  Rates append_rates() const;
  // Parameters that one fused form updates: alike in weight decay, and all with a constraint or a
  // mask or all without.
  struct Group {
    double weight_decay;
    bool constrained;
    std::vector<size_t> members;
  };
  std::vector<Group> groups_of(Graph& graph, const std::vector<Variable>& parameters,
                               const std::vector<bool>& own) const;
  // Which parameters this replica updates: all, unless replicas share the state.
  std::vector<bool> own_parameters(Graph& graph, const std::vector<Variable>& parameters);
  // The parameters and slots after the update, one list per member.
  std::vector<Values> update_group(Graph& graph, const Group& group, const Rates& rates,
                                   const Value& scales, const Values& gradients,
                                   const std::vector<Variable>& parameters);
  // The average after an update that gave the parameter this value.
  Value next_average(const Slots& state, const Value& updated) const;
  // Whether this update ends with the averages as parameters: bool [].
  Value overwrites_now() const;
  Attrs fused_attrs(const Rates& rates, bool scaled, double decay) const;
  Values fused_head(const Rates& rates, const Value& scales) const;
  // operands: parameter, gradient, slots. Returns the parameter and the slots after the update.
  Values apply_rule(Graph& graph, const Rates& rates, const Value& scale, double decay,
                    const Slots& state, std::span<const Value> operands) const;
};

struct Applied {
  Optimizer optimizer;
  int64_t times;  // in one step
};

// The optimisers whose apply() a graph has met, among its notes(): the host must choose between
// their programs (accumulate, or accumulate and update) and count their batches.
struct AppliedOptimizers {
  std::vector<Applied> list;
  std::vector<Variable> parameters;          // of all of them
  std::vector<Values> unscaled;              // the gradients of updates that no loss scale watches
  int64_t note(const Optimizer& optimizer);  // how often it was applied before
};

// Turns loss scaling on; leaves it as it is where it already is.
void enable_loss_scale(const Optimizer& optimizer, const LossScaleOptions& options);
// What is worth saying of the loss scale: it stands at its floor, or many steps in a row were
// skipped; else "". Reads the device.
std::string loss_scale_warning(const Optimizer& optimizer);

// Whether the next batch updates: which program the host must run.
bool updates_next(const Optimizer& optimizer);
// The host's count after a step that ran.
void count_batch(const Optimizer& optimizer);

}  // namespace stoker
