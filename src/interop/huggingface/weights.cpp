#include "interop/huggingface/weights.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/safetensors.h>

#include "train/model/trainer.h"
#include "train/model/weight_paths.h"

namespace stoker::huggingface {

namespace {

using Names = std::vector<std::string>;

// The tensors without the prefix; of a name that occurs with and without it, the second is reported.
std::map<std::string, Tensor> without_prefix(TensorMap tensors, const std::string& prefix,
                                             const std::string& path) {
  std::map<std::string, Tensor> found;
  for (auto& [name, tensor] : tensors) {
    std::string bare = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    if (!found.emplace(bare, tensor).second)
      throw FileError(fmt::format("{}: tensor \"{}\" is there twice, with and without \"{}\"", path,
                                  bare, prefix));
  }
  return found;
}

// [rows, columns] → [columns, rows], float32
Tensor turned(const Tensor& from) {
  int64_t rows = from.shape()[0], columns = from.shape()[1];
  Tensor to(DType::float32, {columns, rows});
  const float* source = from.data<float>();
  float* target = to.data_mut<float>();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      target[column * rows + row] = source[row * columns + column];
  return to;
}

// Columns [begin, begin + count) of [rows, columns], or of [columns].
Tensor columns_of(const Tensor& from, int64_t begin, int64_t count) {
  if (from.shape().rank() == 1) return from.slice(begin, begin + count);
  int64_t rows = from.shape()[0], columns = from.shape()[1];
  Tensor to(DType::float32, {rows, count});
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(from.data<float>() + row * columns + begin, count,
                to.data_mut<float>() + row * count);
  return to;
}

// A kernel's shape as a matrix of its inputs and outputs: [heads, dim, features] of an attention's
// output has its inputs in front, every other kernel has them in its first axis. A bias has one axis.
Shape matrix_of(const std::string& layer, const std::string& name, const Shape& weight) {
  if (weight.rank() < 2 || tensor_word(name) == "bias") return {weight.elements()};
  bool inputs_first = layer.ends_with("/attention_output");
  int64_t outputs = inputs_first ? weight[-1] : weight.elements() / weight[0];
  return {weight.elements() / outputs, outputs};
}

Shape shape_in_file(const Source& source, const std::string& layer, const std::string& name,
                    const Shape& weight) {
  Shape shape = matrix_of(layer, name, weight);
  if (source.part >= 0) shape.set(-1, shape[-1] * 3);
  if (source.transposed && shape.rank() == 2) return {shape[1], shape[0]};
  return shape;
}

Tensor brought_in(const Source& source, Tensor tensor, const Shape& weight) {
  tensor = tensor.cast(DType::float32);
  if (source.transposed && tensor.shape().rank() == 2) tensor = turned(tensor);
  if (source.part >= 0) {
    int64_t width = tensor.shape()[-1] / 3;
    tensor = columns_of(tensor, source.part * width, width);
  }
  return tensor.reshape(weight);
}

class Loading {
 public:
  Loading(const std::string& path, const Rules& rules)
      : path_(path),
        rules_(rules),
        there_(without_prefix(load_safetensors(path), rules.prefix, path)) {}

  void add(const std::string& name, const Variable& weight) {
    size_t cut = name.rfind('/');
    std::string layer = name.substr(0, cut), own = name.substr(cut + 1);
    Source source = rules_.source(layer, own);
    auto found = there_.find(source.tensor);
    if (found == there_.end() && !source.other.empty()) found = there_.find(source.other);
    if (found == there_.end()) return missing_.push_back(source.tensor);
    used_.insert(found->first);
    Shape wanted = shape_in_file(source, layer, own, weight.shape());
    if (!is_floating(found->second.dtype()) || found->second.shape() != wanted)
      return wrong_.push_back(
          fmt::format("tensor \"{}\" is {}, expected floats {} for weight \"{}\"", found->first,
                      to_string(found->second.spec()), to_string(wanted), name));
    writes_.emplace_back(weight, brought_in(source, found->second, weight.shape()));
  }

  void finish() {
    Names unknown;
    for (const auto& [name, tensor] : there_)
      if (!used_.contains(name) && name != rules_.tied && !rules_.passed_over(name))
        unknown.push_back(name);
    check_tied();
    std::string problems;
    auto add = [&](const char* what, const Names& names) {
      if (!names.empty())
        problems +=
            fmt::format("{}{}{}", problems.empty() ? "" : "; ", what, first_few(names, ", "));
    };
    add("", wrong_);
    add("missing: ", missing_);
    add("not known to the model: ", unknown);
    if (!problems.empty()) throw FileError(fmt::format("{}: {}", path_, problems));
    for (auto& [weight, value] : writes_) weight.write(value);
  }

 private:
  void check_tied() {
    auto head = there_.find(rules_.tied), table = there_.find(rules_.tied_to);
    if (rules_.tied.empty() || head == there_.end() || table == there_.end()) return;
    if (!(head->second == table->second))
      wrong_.push_back(
          fmt::format("tensor \"{}\" differs from \"{}\", which the model takes for both",
                      rules_.tied, rules_.tied_to));
  }

  const std::string& path_;
  const Rules& rules_;
  std::map<std::string, Tensor> there_;
  std::set<std::string> used_;
  Names missing_, wrong_;
  std::vector<std::pair<Variable, Tensor>> writes_;
};

}  // namespace

std::string tensor_word(const std::string& weight) {
  return weight == "bias" || weight == "beta" ? "bias" : "weight";
}

void load(const Model& model, const std::string& path, const Rules& rules, const char* action) {
  const ModelBase& base = ModelAccess::base(model);
  Use use(base.trainer->gate, action, UseMode::alone);
  Loading loading(path, rules);
  for (const auto& [name, weight] : named_weights(base)) loading.add(name, weight);
  loading.finish();
}

}  // namespace stoker::huggingface
