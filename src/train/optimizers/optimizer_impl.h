// The inside of an Optimizer: a rule that says how its kind becomes one update node, and the
// variables that outlive a step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <stoker/optimizers.h>

namespace stoker {

// One kind of optimiser as data: docs/reference/ops.md, "Updates".
struct OptimizerRule {
  std::string op = {};                  // "adam_update"
  bool takes_iterations = false;        // after the learning rate
  std::vector<std::string> slots = {};  // per parameter, in the order of the op's operands
  Attrs attrs = {};                     // of the node, all but scaled and momentum_given

  // What a schedule may cycle: a momentum above 0, or beta_1.
  bool has_momentum() const { return attrs.get_or("momentum", 0.0) > 0 || attrs.has("beta_1"); }
};

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

struct Optimizer::Impl {
  std::string kind;
  Attrs config;  // complete: every option but those that are off
  OptimizerRule rule;
  double clipnorm = 0, global_clipnorm = 0;  // 0: off
  int64_t accumulation_steps = 1;
  int64_t accumulated = 0;  // batches since the last update

  LearningRateSchedule schedule;  // may be undefined
  Variable learning_rate;         // float32 []
  Variable iterations;            // int64 []
  LossScale loss_scale;
  struct Slots {
    Variable parameter;
    std::vector<Variable> moments;
    Variable gradient_sum;  // defined when gradients are accumulated
  };
  std::vector<Slots> slots;                  // in the order of creation
  std::map<const void*, size_t> slot_index;  // parameter → slots

  Slots& slots_of(const Variable& parameter);
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
  // Clipping, the update node and its assignments; iterations + 1.
  void append_update(Graph& graph, const Values& gradients,
                     const std::vector<Variable>& parameters);
};

// Checks a configuration and fills in the defaults of its kind; ValueError.
Attrs complete_optimizer_config(const std::string& kind, const Attrs& config);
OptimizerRule optimizer_rule(const std::string& kind, const Attrs& config);
// "Adam" for "adam", "Adam", "ADAM"; ValueError lists the names.
std::string optimizer_kind(const std::string& name);

struct Applied {
  Optimizer optimizer;
  int64_t times;  // in one step
};

// Collects the optimisers whose apply() is met on this thread while it lives: the host must choose
// between their programs (accumulate, or accumulate and update) and count their batches.
class AppliedOptimizers {
 public:
  AppliedOptimizers();
  ~AppliedOptimizers();
  AppliedOptimizers(const AppliedOptimizers&) = delete;
  AppliedOptimizers& operator=(const AppliedOptimizers&) = delete;

  const std::vector<Applied>& list() const { return list_; }
  static int64_t note(const Optimizer& optimizer);  // how often it was applied before

 private:
  AppliedOptimizers* outer_;
  std::vector<Applied> list_;
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
