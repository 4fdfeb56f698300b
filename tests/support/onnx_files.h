// Models and what they must give, as files that check_onnx.py compares with ONNX Runtime.
#pragma once

#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <stoker/onnx.h>

#include "formats/onnx.h"
#include "support/peer_python.h"
#include "support/temp_dir.h"

namespace stoker::test {

class OnnxFiles {
 public:
  // Exports the model; its cases are fresh random inputs of these batch sizes and predict_all().
  void add(const std::string& name, const Model& model, const OnnxOptions& options = {},
           const std::vector<int64_t>& batches = {1, 5});
  // One case of a model whose file is at path(name).
  void add_case(const std::string& name, const std::vector<std::pair<std::string, Tensor>>& inputs,
                const std::vector<std::pair<std::string, Tensor>>& outputs);
  // Without waiting for the disk: there are a thousand of them.
  void write(const std::string& name, const OnnxModel& model);
  std::string path(const std::string& name) const { return dir_ / (name + ".onnx"); }
  std::string dir() const { return dir_.path().string(); }

 private:
  TempDir dir_;
  int cases_ = 0;
};

}  // namespace stoker::test
