#include "interop/onnx/builder.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>
#include <stoker/error.h>

#include "interop/onnx/exporters.h"

namespace stoker {

namespace {

Tensor transposed(const Tensor& tensor, const Form& form) {
  const Shape& shape = tensor.shape();
  Ints strides(form.size(), 1), extents;
  for (size_t axis = form.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[int(axis)];
  for (int64_t axis : form) extents.push_back(shape[int(axis)]);
  Tensor result(tensor.dtype(), Shape(std::span<const int64_t>(extents)));
  size_t size = size_of(tensor.dtype());
  const auto* from = static_cast<const std::byte*>(tensor.raw());
  auto* to = static_cast<std::byte*>(result.raw_mut());
  Ints index(form.size(), 0);
  for (int64_t count = tensor.elements(); count > 0; --count, to += size) {
    int64_t place = 0;
    for (size_t i = 0; i < form.size(); ++i) place += index[i] * strides[size_t(form[i])];
    std::memcpy(to, from + size_t(place) * size, size);
    for (size_t i = form.size(); i-- > 0;) {
      if (++index[i] < extents[i]) break;
      index[i] = 0;
    }
  }
  return result;
}

Tensor with_rank(const Tensor& tensor, size_t rank) {
  Shape shape = tensor.shape();
  while (size_t(shape.rank()) < rank) shape = shape.prepend(1);
  return tensor.reshape(shape);
}

}  // namespace

Form plain_form(int rank) {
  Form form(size_t(rank), 0);
  std::iota(form.begin(), form.end(), 0);
  return form;
}

Form channels_first(int rank) {
  Form form = plain_form(rank);
  if (rank > 2) std::rotate(form.begin() + 1, form.end() - 1, form.end());
  return form;
}

int64_t place_of(const Form& form, int64_t axis) {
  return std::ranges::find(form, axis) - form.begin();
}

OnnxBuilder::OnnxBuilder(const Graph& graph, const Graph& other, int64_t opset)
    : graph_(graph), other_(other), opset_(opset), known_(known_values(graph, other)) {}

bool OnnxBuilder::varies(int value, int axis) const {
  return graph_.spec(value).shape[axis] != other_.spec(value).shape[axis];
}

bool OnnxBuilder::equal_extents(int a, int axis_a, int b, int axis_b) const {
  return graph_.spec(a).shape[axis_a] == graph_.spec(b).shape[axis_b] &&
         other_.spec(a).shape[axis_a] == other_.spec(b).shape[axis_b];
}

std::optional<int64_t> OnnxBuilder::multiple(int a, int axis_a, int b, int axis_b) const {
  int64_t first = graph_.spec(a).shape[axis_a], second = graph_.spec(b).shape[axis_b];
  if (second == 0 || first % second != 0) return {};
  int64_t times = first / second;
  if (other_.spec(a).shape[axis_a] != times * other_.spec(b).shape[axis_b]) return {};
  return times;
}

Form OnnxBuilder::form(int value) const {
  auto found = held_.find(value);
  return known(value) || found == held_.end() ? plain_form(shape(value).rank())
                                              : found->second.front().first;
}

std::string OnnxBuilder::get(int value, const Form& form) {
  auto& forms = held_[value];
  for (const auto& [there, name] : forms)
    if (there == form) return name;
  std::string name;
  if (known(value)) {
    const KnownValue& constant = known_.values.at(value);
    name = initializer(constant.name, transposed(with_rank(constant.tensor, form.size()), form));
  } else {
    if (forms.empty())
      throw Error(fmt::format("export_onnx: value {} was read before it was made", value));
    Ints moves;
    for (int64_t axis : form) moves.push_back(place_of(forms.front().first, axis));
    name = add("Transpose", {forms.front().second}, {{"perm", moves}});
  }
  held_[value].emplace_back(form, name);
  return name;
}

void OnnxBuilder::set(int value, std::string name, const Form& form) {
  held_[value].emplace_back(form, std::move(name));
}

std::string OnnxBuilder::unique(const std::string& name) {
  std::string candidate = name;
  for (int number = 1; !names_.insert(candidate).second; ++number)
    candidate = fmt::format("{}_{}", name, number);
  return candidate;
}

std::string OnnxBuilder::add(const std::string& op, std::vector<std::string> inputs,
                             std::vector<std::pair<std::string, OnnxAttribute>> attributes) {
  return add_all(op, std::move(inputs), 1, std::move(attributes))[0];
}

std::vector<std::string> OnnxBuilder::add_all(
    const std::string& op, std::vector<std::string> inputs, size_t outputs,
    std::vector<std::pair<std::string, OnnxAttribute>> attributes) {
  std::vector<std::string> names = {unique(fmt::format("{}/{}", scope_, op))};
  while (names.size() < outputs) names.push_back(unique(names[0]));
  model_.nodes.push_back({op, names[0], std::move(inputs), names, std::move(attributes)});
  return names;
}

std::string OnnxBuilder::initializer(const std::string& name, const Tensor& tensor) {
  model_.initializers.emplace_back(unique(name), tensor);
  return model_.initializers.back().first;
}

std::string OnnxBuilder::constant(const Tensor& tensor) {
  std::string key = to_string(tensor.spec());
  key.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
  auto [found, is_new] = constants_.try_emplace(key);
  if (is_new) found->second = initializer("constant", tensor);
  return found->second;
}

std::string OnnxBuilder::scalar(double value, DType dtype) {
  return constant(Tensor::full({}, value, dtype));
}

std::string OnnxBuilder::integers(const Ints& values) {
  return constant(Tensor::from(values, {int64_t(values.size())}));
}

void OnnxBuilder::refuse(const Node& node, const std::string& why) const {
  throw ValueError(
      fmt::format("export_onnx: layer \"{}\", op {}: {}", node.scope, node.op->name, why));
}

// --- the whole graph ---------------------------------------------------------------------------

OnnxValue OnnxBuilder::describe(int value, std::string name) const {
  OnnxValue described{std::move(name), spec(value).dtype, {}};
  for (int axis = 0; axis < shape(value).rank(); ++axis) {
    if (!varies(value, axis))
      described.shape.emplace_back(shape(value)[axis]);
    else if (!graph_.inputs().empty() && equal_extents(value, axis, graph_.inputs()[0].value, 0))
      described.shape.emplace_back("batch");
    else
      described.shape.emplace_back("");
  }
  return described;
}

void OnnxBuilder::add_inputs() {
  for (const GraphInput& input : graph_.inputs()) {
    std::string name = unique(input.name);
    model_.inputs.push_back(describe(input.value, name));
    set(input.value, name);
  }
}

void OnnxBuilder::rename(const std::string& from, const std::string& to) {
  for (OnnxNode& node : model_.nodes) {
    std::ranges::replace(node.inputs, from, to);
    std::ranges::replace(node.outputs, from, to);
  }
}

// The value that is an output gets the output's name. One that has a name already (an input, a
// weight, another output) is handed through an Identity.
void OnnxBuilder::add_outputs() {
  scope_ = "outputs";
  std::set<std::string> taken;
  for (const OnnxValue& input : model_.inputs) taken.insert(input.name);
  for (const auto& [name, tensor] : model_.initializers) taken.insert(name);
  for (const GraphOutput& output : graph_.outputs()) {
    std::string value = get(output.value);
    if (known(output.value) || !taken.insert(value).second) value = add("Identity", {value});
    std::string name = unique(output.name);
    rename(value, name);
    auto& forms = held_[output.value];
    for (auto& [form, held] : forms)
      if (held == value) held = name;
    taken.insert(name);
    model_.outputs.push_back(describe(output.value, name));
  }
}

// Nodes and constants that are never read: forms that turned out not to be needed.
void OnnxBuilder::drop_unused() {
  std::set<std::string> read;
  for (const OnnxValue& output : model_.outputs) read.insert(output.name);
  std::vector<OnnxNode> kept;
  for (auto node = model_.nodes.rbegin(); node != model_.nodes.rend(); ++node) {
    auto is_read = [&](const std::string& output) { return read.contains(output); };
    if (std::ranges::none_of(node->outputs, is_read)) continue;
    read.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  std::ranges::reverse(kept);
  model_.nodes = std::move(kept);
  std::erase_if(model_.initializers,
                [&](const auto& entry) { return !read.contains(entry.first); });
}

OnnxModel OnnxBuilder::build() {
  add_inputs();
  for (const Node& node : graph_.nodes()) {
    scope_ = node.scope.empty() ? "model" : node.scope;
    if (!known_.nodes.contains(&node)) export_node(*this, node);
  }
  add_outputs();
  drop_unused();
  model_.opset = opset_;
  return std::move(model_);
}

}  // namespace stoker
