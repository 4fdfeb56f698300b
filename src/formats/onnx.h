// ONNX model files as data: https://onnx.ai/onnx/repo-docs/IR.html. Writes them; knows nothing of
// what the operators mean.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <stoker/tensor.h>

#include "base/file.h"

namespace stoker {

using OnnxAttribute =
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<std::string>>;

struct OnnxNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;  // names of values; "" is an input left out
  std::vector<std::pair<std::string, OnnxAttribute>> attributes;
};

// An input or output of the graph.
struct OnnxValue {
  std::string name;
  DType dtype = DType::float32;
  // A number; a name, the same for extents that are always equal; "" for any.
  std::vector<std::variant<int64_t, std::string>> shape;
};

struct OnnxModel {
  std::string name = "model";  // must not be empty
  int64_t opset = 0;
  std::vector<OnnxNode> nodes;  // each after those that it reads
  std::vector<std::pair<std::string, Tensor>> initializers;
  std::vector<OnnxValue> inputs, outputs;
  std::string producer_version;
  std::map<std::string, std::string> metadata;
};

// The number of ONNX's TensorProto.DataType; ValueError for bytes.
int64_t onnx_dtype(DType dtype);

// Atomic; the weights go to the file without being copied. ValueError beyond the 2 GB that a
// protobuf message can hold.
void write_onnx(const std::string& path, const OnnxModel& model, FileSystem& files = local_files());

}  // namespace stoker
