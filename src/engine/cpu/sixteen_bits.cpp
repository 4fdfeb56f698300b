#include "engine/cpu/sixteen_bits.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "engine/cpu/onednn.h"
#include "engine/cpu/ops/op_builders.h"

namespace stoker::cpu {

namespace {

// Whether oneDNN's kernels use what `isa` has and `before` has not.
bool has_isa(dnnl::cpu_isa isa, dnnl::cpu_isa before) {
  return (effective_isa() & unsigned(isa) & ~unsigned(before)) != 0;
}

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

// Sums of fewer products than this are not worth a conversion: the first layer of a network for
// pictures of few channels, depthwise convolutions, groups of few channels.
constexpr int64_t kFewestProducts = 32, kFewestInGroup = 16;

bool is_convolution(const Node& node) { return node.op->name.starts_with("conv2d"); }

class Widening {
 public:
  explicit Widening(Graph& graph)
      : graph_(graph), products_(bfloat16_products() != Bfloat16::none) {}

  int run() {
    std::vector<Node> nodes = std::move(graph_.mutable_nodes());
    graph_.mutable_nodes().clear();
    for (Node& node : nodes) take(std::move(node));
    graph_.mutable_nodes() = std::move(made_);
    graph_.remove_dead_nodes();  // also tells the values where their nodes are now
    return changed_;
  }

 private:
  bool half(int value) const { return is_half(graph_.spec(value).dtype); }
  bool any_half(const std::vector<int>& values) const {
    return std::ranges::any_of(values, [&](int value) { return half(value); });
  }
  int& wide(int value) {
    if (wide_.size() <= size_t(value)) wide_.resize(graph_.values().size() + 64, -1);
    return wide_[size_t(value)];
  }

  void take(Node node) {
    if (!any_half(node.inputs) && !any_half(node.outputs)) return keep(std::move(node));
    ++changed_;
    const OpBuilder* builder = find_op_builder(node.op->name);
    bool moves = builder != nullptr && builder->takes == anything;
    if (node.is("cast")) return take_cast(std::move(node));
    if (moves && node.traits().updates_variables) return keep(std::move(node));
    if (moves && (node.is("scan") || node.traits().calls_host)) return keep(std::move(node));
    if (moves) return take_move(std::move(node));
    if (node.traits().reads_gradients) {
      for (int& value : node.inputs)
        if (half(value) && wide(value) >= 0) value = wide(value);
      return keep(std::move(node));
    }
    compute(std::move(node));
  }

  void keep(Node node) { made_.push_back(std::move(node)); }

  int new_wide(int value) {
    int made = graph_.add_value({DType::float32, graph_.spec(value).shape}, -1);
    wide(value) = made;
    return made;
  }

  void add_cast(int from, int to, const Node& beside) {
    Attrs attrs = {{"dtype", std::string(name(graph_.spec(to).dtype))}};
    made_.push_back(
        {&OpRegistry::get().find("cast"), attrs, {from}, {to}, beside.scope, beside.phase});
  }

  // The float32 form of a value, made where it is first wanted.
  int widened(int value, const Node& reader) {
    if (!half(value)) return value;
    if (int known = wide(value); known >= 0) return known;
    int made = new_wide(value);
    add_cast(value, made, reader);
    return made;
  }

  // What was computed in float32 is not rounded on the way to float32.
  void take_cast(Node node) {
    int from = node.inputs[0], known = half(from) ? wide(from) : -1;
    if (known < 0) return keep(std::move(node));
    if (graph_.spec(node.outputs[0]).dtype == DType::float32) {
      node.op = &OpRegistry::get().find("identity");
      node.attrs = {};
    }
    node.inputs[0] = known;
    keep(std::move(node));
  }

  // As it stands and, where a float32 form of its operands exists, on that as well: what nothing
  // reads goes.
  void take_move(Node node) {
    if (std::ranges::any_of(node.inputs, [&](int v) { return half(v) && wide(v) >= 0; })) {
      Node copy = node;
      for (int& value : copy.inputs) value = widened(value, node);
      for (int& value : copy.outputs)
        if (half(value)) value = new_wide(value);
      keep(std::move(copy));
    }
    keep(std::move(node));
  }

  // A weight gradient takes the columns of dy in pairs, and multiplies the one that an odd number lacks
  // by 0: with a pixel that no window sees, which may be infinite, that would be NaN.
  bool pairs_with_unseen(const Node& node, int64_t kernel_width) const {
    const Shape &x = graph_.spec(node.inputs[0]).shape, &dy = graph_.spec(node.inputs[1]).shape;
    int64_t stride = node.attrs.get<Ints>("strides")[1], before = node.attrs.get<Ints>("pads")[2];
    int64_t dilation = node.attrs.get_or<Ints>("dilation", {1, 1})[1];
    int64_t seen = (dy[2] - 1) * stride + (kernel_width - 1) * dilation + 1 - before;
    return dy[2] % 2 == 1 && seen < x[2];
  }

  // Of a node whose first operand is bfloat16: whether the CPU multiplies that as it is.
  bool multiplies(const Node& node) const {
    if (node.is("matmul")) return true;
    if (!is_convolution(node)) return false;
    bool gradient = node.traits().weight_gradient;
    const Shape& kernel = graph_.spec(gradient ? node.outputs[0] : node.inputs[1]).shape;
    bool narrow = node.attrs.get_or<int64_t>("groups", 1) > 1 && kernel[2] < kFewestInGroup;
    if (gradient && pairs_with_unseen(node, kernel[1])) return false;
    return !narrow && kernel[0] * kernel[1] * kernel[2] >= kFewestProducts;
  }

  // In float32, or from bfloat16 to float32.
  void compute(Node node) {
    bool bfloat16 =
        products_ && !node.inputs.empty() && graph_.spec(node.inputs[0]).dtype == DType::bfloat16;
    if (bfloat16 && (node.is("recurrent") || node.is("recurrent_grad")))
      node.attrs.set("bfloat16", true);
    size_t first = bfloat16 && multiplies(node) ? 2 : 0;
    for (size_t i = first; i < node.inputs.size(); ++i)
      node.inputs[i] = widened(node.inputs[i], node);
    std::vector<int> brief = node.outputs;
    for (int& value : node.outputs)
      if (half(value)) value = new_wide(value);
    made_.push_back(node);
    for (int value : brief)
      if (half(value)) add_cast(wide(value), value, node);
  }

  Graph& graph_;
  const bool products_;
  std::vector<Node> made_;
  std::vector<int> wide_;  // by value: its float32 form, or -1
  int changed_ = 0;
};

}  // namespace

namespace {

std::string_view wanted_bfloat16() {
  const char* asked = std::getenv("STOKER_CPU_BFLOAT16");
  return asked == nullptr ? "" : asked;
}

bool has_bfloat16() {
  return has_isa(dnnl::cpu_isa::avx512_core_bf16, dnnl::cpu_isa::avx512_core_vnni);
}

}  // namespace

Bfloat16 bfloat16_products() {
  if (wanted_bfloat16() == "off") return Bfloat16::none;
  if (has_bfloat16()) return Bfloat16::native;
  bool emulates = has_isa(dnnl::cpu_isa::avx512_core, dnnl::cpu_isa::avx2);
  return wanted_bfloat16() == "on" && emulates ? Bfloat16::emulated : Bfloat16::none;
}

std::string bfloat16_asked() {
  bool products = bfloat16_products() != Bfloat16::none;
  return products == has_bfloat16() ? "" : products ? ", bfloat16 on" : ", bfloat16 off";
}

int widen(Graph& graph) {
  bool any = std::ranges::any_of(graph.values(),
                                 [](const ValueInfo& info) { return is_half(info.spec.dtype); });
  return any ? Widening(graph).run() : 0;
}

}  // namespace stoker::cpu
