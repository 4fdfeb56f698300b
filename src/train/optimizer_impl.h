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
  Attrs attrs = {};                     // of the node, all but scaled
};

struct Optimizer::Impl {
  std::string kind;
  Attrs config;  // complete: every option but those that are off
  OptimizerRule rule;
  double clipnorm = 0, global_clipnorm = 0;  // 0: off
  int64_t accumulation_steps = 1;
  int64_t accumulated = 0;  // batches since the last update

  Variable learning_rate;  // float32 []
  Variable iterations;     // int64 []
  struct Slots {
    Variable parameter;
    std::vector<Variable> moments;
    Variable gradient_sum;  // defined when gradients are accumulated
  };
  std::vector<Slots> slots;                  // in the order of creation
  std::map<const void*, size_t> slot_index;  // parameter → slots

  Slots& slots_of(const Variable& parameter);
  bool updates_next() const { return accumulated + 1 >= accumulation_steps; }
  // Clipping, the update node and its assignments; iterations + 1.
  void append_update(Graph& graph, const Values& gradients,
                     const std::vector<Variable>& parameters);
};

// Checks a configuration and fills in the defaults of its kind; ValueError.
Attrs complete_optimizer_config(const std::string& kind, const Attrs& config);
OptimizerRule optimizer_rule(const std::string& kind, const Attrs& config);
// "Adam" for "adam", "Adam", "ADAM"; ValueError lists the names.
std::string optimizer_kind(const std::string& name);

// Collects the optimisers whose apply() is met on this thread while it lives: the host must choose
// between their programs (accumulate, or accumulate and update) and count their batches.
class AppliedOptimizers {
 public:
  AppliedOptimizers();
  ~AppliedOptimizers();
  AppliedOptimizers(const AppliedOptimizers&) = delete;
  AppliedOptimizers& operator=(const AppliedOptimizers&) = delete;

  const std::vector<Optimizer>& list() const { return list_; }
  static void note(const Optimizer& optimizer);

 private:
  AppliedOptimizers* outer_;
  std::vector<Optimizer> list_;
};

// Whether the next batch updates: which program the host must run.
bool updates_next(const Optimizer& optimizer);
// The host's count after a step that ran.
void count_batch(const Optimizer& optimizer);

}  // namespace stoker
