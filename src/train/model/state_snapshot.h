// Everything that training changes in a model, put back bit for bit when it goes: weights, the
// optimiser's state, random state, sums of metrics, history.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker {

class StateSnapshot {
 public:
  // The model is compiled, and its optimiser knows its moments.
  explicit StateSnapshot(ModelBase& model);
  ~StateSnapshot();
  StateSnapshot(const StateSnapshot&) = delete;
  StateSnapshot& operator=(const StateSnapshot&) = delete;
  // Also what this step assigns beyond that, such as variables of own layers. Before it runs.
  void cover(const Graph& step);
  void restore();

 private:
  void keep(const Variable& variable);

  ModelBase& model_;
  std::vector<std::pair<Variable, Tensor>> values_;
  std::set<const void*> known_;  // ids of their variables
  int64_t accumulated_, samples_;
  History history_;
  bool stop_;
  int64_t batch_size_;
  std::shared_ptr<const doctor::Diagnosis> diagnosis_;
};

}  // namespace stoker
