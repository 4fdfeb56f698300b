// Makes an ONNX graph, node by node.
//
// ONNX's images are [B, C, H, W], ours [B, H, W, C]. A value is therefore held in forms: a form is
// a permutation of its axes, form[i] being the axis that the ONNX tensor has at place i. Operators
// take a value in the form they need, and a Transpose appears only where none of the forms at hand
// fits. Whatever does not care stays in the form that its input is in, so that a convolutional
// network has one Transpose at its input and, where the image reaches it, one at its output.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/onnx.h"
#include "interop/onnx/known_values.h"

namespace stoker {

using Form = Ints;

Form plain_form(int rank);  // 0, 1, 2, …
// [B, .., C] → [B, C, ..], what convolutions, pooling and batch norms of ONNX expect.
Form channels_first(int rank);
// Where a form holds an axis.
int64_t place_of(const Form& form, int64_t axis);

class OnnxBuilder {
 public:
  // `other` is the same graph at another batch size; extents that differ depend on the batch. The
  // graph itself: all are fixed.
  OnnxBuilder(const Graph& graph, const Graph& other, int64_t opset);

  // --- reading ---
  const Graph& graph() const { return graph_; }
  int64_t opset() const { return opset_; }
  const TensorSpec& spec(int value) const { return graph_.spec(value); }
  const Shape& shape(int value) const { return graph_.spec(value).shape; }
  bool varies(int value, int axis) const;  // with the batch
  // Both extents follow the batch in the same way.
  bool equal_extents(int a, int axis_a, int b, int axis_b) const;
  // How often the second goes into the first, whatever the batch and open sizes are; nothing: it varies.
  std::optional<int64_t> multiple(int a, int axis_a, int b, int axis_b) const;
  bool known(int value) const { return known_.values.contains(value); }
  const Tensor* known_tensor(int value) const {  // null: not known
    return known(value) ? &known_.values.at(value).tensor : nullptr;
  }

  // --- values ---
  // In which form it is at hand; plain for what is known.
  Form form(int value) const;
  // The name of the value in a form; what is known may also get axes of extent 1 in front.
  std::string get(int value, const Form& form);
  std::string get(int value) { return get(value, plain_form(shape(value).rank())); }
  void set(int value, std::string name, const Form& form);
  void set(int value, std::string name) {
    set(value, std::move(name), plain_form(shape(value).rank()));
  }

  // --- emission ---
  // A node of one output, named after the layer that is being exported; its output's name.
  std::string add(const std::string& op, std::vector<std::string> inputs,
                  std::vector<std::pair<std::string, OnnxAttribute>> attributes = {});
  // The same with several outputs.
  std::vector<std::string> add_all(
      const std::string& op, std::vector<std::string> inputs, size_t outputs,
      std::vector<std::pair<std::string, OnnxAttribute>> attributes = {});
  std::string constant(const Tensor& tensor);
  std::string scalar(double value, DType dtype);
  std::string integers(const Ints& values);  // int64 [n]

  // Exports all nodes. ValueError with layer and op for what ONNX cannot say.
  OnnxModel build();
  [[noreturn]] void refuse(const Node& node, const std::string& why) const;

 private:
  std::string unique(const std::string& name);
  std::string initializer(const std::string& name, const Tensor& tensor);
  void add_inputs();
  void add_outputs();
  void rename(const std::string& from, const std::string& to);
  void drop_unused();
  OnnxValue describe(int value, std::string name) const;

  const Graph& graph_;
  const Graph& other_;
  int64_t opset_;
  KnownValues known_;
  std::map<int, std::vector<std::pair<Form, std::string>>> held_;
  std::map<std::string, std::string> constants_;  // dtype, shape and bytes → name
  std::set<std::string> names_;
  std::string scope_;
  OnnxModel model_;
};

}  // namespace stoker
