// What an op is, apart from its kernels: shape rule, gradient and cost under one name. The kernels
// live in the engines under the same name; docs/reference/ops.md states the meaning of each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/value.h>

#include <stoker/attrs.h>

namespace stoker {

struct Cost {
  double flops = 0;  // a multiply-add counts as two
  double bytes = 0;  // inputs read once and outputs written once
};

// What a gradient rule sees: the node's own inputs and outputs, and d(loss)/d(output), undefined
// where the loss does not depend on that output. It returns d(loss)/d(input), undefined where there
// is none or where `needed` is false.
struct GradientCall {
  Graph& graph;
  const Attrs& attrs;
  const Values& inputs;
  const Values& outputs;
  const Values& output_gradients;
  const std::vector<bool>& needed;
};

// An integer operand whose elements must lie in [0, limit): class ids, embedding indices.
struct IndexRule {
  size_t operand = 0;
  std::string what;  // "class id"
  std::function<int64_t(std::span<const TensorSpec> inputs)> limit;
};

// How an op takes operands that come in different dtypes; graph/operands.h applies it.
enum class Operands : uint8_t {
  as_given,
  product,        // all in the graph's compute dtype
  normalization,  // the first as given, statistics and parameters behind it in float32
  one_dtype,      // all from the main operand on in the dtype they take together
};

// What passes::fuse may join to an op's result as its attributes and operands.
enum class Epilogue : uint8_t {
  none,
  relu,                 // the attribute `activation` = "relu"
  bias_and_activation,  // a bias as third operand, and any activation with a gradient by its output
};

// What passes and engines ask of an op instead of its name, so that a new op joins in by stating
// them. A test holds every op of the registry to its traits.
struct OpTraits {
  // Overwrites the variables it reads, through all pairs of `in_place`: it runs last, behind the
  // guard, and its results need no memory of their own.
  bool updates_variables = false;
  bool reads_gradients = false;  // of parameters, in any floating dtype: it widens them itself
  bool shares_bytes = false;     // the output is the operand's bytes, maybe under another shape
  bool moves = false;            // elements are copied, never computed with: any dtype will do
  bool elementwise = false;      // each element from one element of every operand, broadcast
  bool stops_gradient = false;   // its gradient rule gives none on purpose
  bool calls_host = false;       // a user's function: two calls with equal operands may differ
  bool random = false;           // draws from the random state
  bool weight_gradient = false;  // of a product: sums over the batch, so that a NaN in it is seen
  Operands operands = Operands::as_given;
  size_t main_operand = 0;  // the first one that takes part in the arithmetic
  Epilogue epilogue = Epilogue::none;
};

struct OpDef {
  std::string name;
  // Specs of the outputs, or ShapeError. The caller prefixes the op's name and the layer.
  std::function<std::vector<TensorSpec>(const Attrs&, std::span<const TensorSpec> inputs)> infer;
  // Empty for ops without a gradient: comparisons, updates, and the gradient ops themselves.
  std::function<Values(const GradientCall&)> gradient = nullptr;
  std::function<Cost(const Attrs&, std::span<const TensorSpec> inputs,
                     std::span<const TensorSpec> outputs)>
      cost = nullptr;
  // The dtypes its main operand may have.
  std::vector<DType> dtypes = {};
  // Pairs (output, input) that may share memory where both are of one size: the kernel reads an
  // element of the input before it writes that element of the output. Null: none. For variadic
  // updates in_place(attrs, inputs) gives the pairs of one call.
  std::function<std::vector<std::pair<int, int>>(const Attrs&, size_t inputs)> in_place = nullptr;
  // What the host checks when the operand comes from a graph input.
  std::optional<IndexRule> indices = std::nullopt;
  OpTraits traits = {};
};

// All ops, built once; immutable afterwards.
class OpRegistry {
 public:
  static const OpRegistry& get();
  const OpDef& find(std::string_view name) const;  // Error for an unknown name
  const std::vector<std::unique_ptr<const OpDef>>& all() const { return ops_; }
  void add(OpDef op);  // used by the families while the registry is being built

 private:
  std::vector<std::unique_ptr<const OpDef>> ops_;
  std::map<std::string_view, const OpDef*> by_name_;
};

// One registration function per family, one file each under graph/ops.
void register_elementwise_ops(OpRegistry& registry);
void register_reduction_ops(OpRegistry& registry);
void register_shape_ops(OpRegistry& registry);
void register_matmul_ops(OpRegistry& registry);
void register_convolution_ops(OpRegistry& registry);
void register_pooling_ops(OpRegistry& registry);
void register_normalization_ops(OpRegistry& registry);
void register_softmax_ops(OpRegistry& registry);
void register_lookup_ops(OpRegistry& registry);
void register_random_ops(OpRegistry& registry);
void register_optimizer_ops(OpRegistry& registry);
void register_host_ops(OpRegistry& registry);
void register_recurrent_ops(OpRegistry& registry);
void register_scan_ops(OpRegistry& registry);

// The output specs of one call: checks the main operand's dtype, applies the shape rule, and gives
// a ShapeError the op, the layer (`scope`) and the input specs.
std::vector<TensorSpec> infer(const OpDef& op, const Attrs& attrs,
                              std::span<const TensorSpec> inputs, const std::string& scope);

// The one way to apply an op: joins unplaced inputs to the graph or sketch of the others, infers
// shapes, appends a node. ShapeError carries op, layer and the input specs.
Values apply(std::string_view op, const Values& inputs, Attrs attrs = {});
inline Value apply1(std::string_view op, const Values& inputs, Attrs attrs = {}) {
  return apply(op, inputs, std::move(attrs))[0];
}

}  // namespace stoker
