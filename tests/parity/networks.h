// The networks of common.py, built with Stoker's layers, with the weights and batches that the
// peers had.
#pragma once

#include <string>
#include <vector>

#include <stoker/model.h>

#include "parity/recording.h"

namespace stoker::test {

inline constexpr int64_t kClasses = 10;

class Network {
 public:
  // "cnn", "residual", "separable" or "mlp", with its first weights.
  explicit Network(const std::string& name);

  const std::string& name() const { return name_; }
  const Recording& recording() const { return recording_; }
  const Model& model() const { return model_; }  // ends in a softmax
  // "conv1/kernel", …, and the variables in the same order.
  const std::vector<std::string>& parameters() const { return parameters_; }
  const std::vector<Variable>& variables() const { return variables_; }
  Tensor images(int step) const;
  Tensor labels(int step) const;

 private:
  std::string name_;
  Recording recording_;
  Model model_;
  std::vector<std::string> parameters_;
  std::vector<Variable> variables_;
};

}  // namespace stoker::test
