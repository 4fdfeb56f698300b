// Everything that training changes in a model, put back bit for bit when it goes.
#pragma once

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
  void restore();

 private:
  ModelBase& model_;
  std::vector<std::pair<Variable, Tensor>> values_;
  int64_t accumulated_;
  History history_;
  bool stop_;
  int64_t batch_size_;
  std::shared_ptr<const doctor::Diagnosis> diagnosis_;
};

}  // namespace stoker
