// Runs the nodes of a graph one after another, in the order in which they stand.
#pragma once

#include <memory>
#include <vector>

#include "engine/planned_program.h"
#include "engine/reference/kernel.h"
#include "engine/reference/residence.h"

namespace stoker::reference {

class ReferenceProgram final : public PlannedProgram {
 public:
  ReferenceProgram(const Graph& graph, Rounding rounding);

  RunStatus run(std::span<const Tensor> inputs) override;
  double scalar(size_t index) const override;  // not rounded where the backend is exact
  RunStatus run_timed(std::span<const Tensor> inputs, std::vector<int64_t>& nanoseconds) override;
  std::optional<NonFinite> find_non_finite(std::span<const Tensor> inputs) override;

 private:
  // A node with its kernel and the arrays it works on.
  struct Step {
    const Node* node;
    Kernel kernel;
    std::vector<const Array*> inputs;
    std::vector<Array*> outputs;
  };

  ReferenceProgram(std::unique_ptr<const Graph> graph, Rounding rounding);

  void bind(std::span<const Tensor> inputs);
  void run_step(const Step& step);
  bool guard_is_finite() const;
  void write_assignments();
  const Array& output_array(size_t index) const;
  void read_output(size_t index, void* to, size_t bytes) const override;
  bool has_run() const override { return has_run_; }

  std::unique_ptr<const Graph> graph_;
  Rounding rounding_;
  std::vector<Array> values_;  // by value id; a variable's is a copy taken when a run begins
  std::vector<Step> steps_;
  std::vector<std::shared_ptr<ArrayResidence>> variables_;
  size_t guard_ready_ = 0;  // the first step at which the guard is known
  bool has_run_ = false;
};

}  // namespace stoker::reference
