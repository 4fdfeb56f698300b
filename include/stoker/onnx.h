// Models for other runtimes. The inference form of a model becomes an ONNX file: weights as
// initialisers, layers' names in the names of nodes, inputs and outputs as the model has them
// (images stay [B, H, W, C]).
//
//   export_onnx(model, "digits.onnx");
//
// In the file, products are float32 whatever precision the model trains in.
#pragma once

#include <map>
#include <string>

#include <stoker/model.h>

namespace stoker {

// The first extent of inputs and outputs is left open.
inline constexpr int64_t kDynamicBatch = -1;

struct OnnxOptions {
  int64_t batch = kDynamicBatch;
  int64_t opset = 17;  // 17 to 21
  std::map<std::string, std::string> metadata = {};
};

// Atomic. ValueError that names layer and op where the model does what ONNX cannot say (a
// HostLayer's C++ code, weights that change while predicting), and for weights of more than 2 GB.
void export_onnx(const Model& model, const std::string& path, const OnnxOptions& options = {});

}  // namespace stoker
