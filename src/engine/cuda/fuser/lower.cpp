#include "engine/cuda/fuser/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/unary.h"

namespace stoker::fuser {

namespace {

Reduction reduction_of(const Node& node) {
  const auto& fn = node.attrs.get<std::string>("fn");
  if (fn == "mean") return Reduction::mean;
  if (fn == "max") return Reduction::max;
  if (fn == "min") return Reduction::min;
  return fn == "prod" ? Reduction::prod : Reduction::sum;
}

using Place = std::vector<Index>;  // coordinates in a value's shape

// One that a value of shape `small` has where it is broadcast to this one.
Place broadcast_place(const Place& place, const Shape& small) {
  Place found(place.end() - small.rank(), place.end());
  for (int axis = 0; axis < small.rank(); ++axis)
    if (small[axis] == 1) found[size_t(axis)] = 0;
  return found;
}

class Lowering {
 public:
  Lowering(const Graph& graph, const Node& root, const LowerOptions& options)
      : graph_(graph), options_(options) {
    find_reduction(root);
    const TensorSpec& spec = graph.spec(root.outputs[0]);
    region_.kept = spec.shape.elements();
    if (reduce_ != nullptr) reduce();
    Place place = coordinates(Index::of(Counter::kept, region_.kept), spec.shape);
    int scalar = compute(root, place);
    region_.store = {root.outputs[0], spec.dtype, scalar};
  }

  Region take() { return std::move(region_); }

 private:
  const Shape& shape(int value) const { return graph_.spec(value).shape; }

  // --- the reduction, if there is one ---

  void find_reduction(const Node& node) {
    if (node.is("reduce")) {
      reduce_ = &node;
      return;
    }
    for (int value : node.inputs)
      if (const Node* producer = graph_.producer(value);
          producer != nullptr && options_.is_inside(value) && reduce_ == nullptr)
        find_reduction(*producer);
  }

  void reduce() {
    const Shape& x = shape(reduce_->inputs[0]);
    const auto& axes = reduce_->attrs.get<Ints>("axes");
    Ints kept, gone;
    auto goes = [&](int axis) { return std::ranges::find(axes, int64_t(axis)) != axes.end(); };
    for (int axis = 0; axis < x.rank(); ++axis) (goes(axis) ? gone : kept).push_back(x[axis]);
    Shape kept_shape{std::span<const int64_t>(kept)}, gone_shape{std::span<const int64_t>(gone)};
    region_.gone = gone_shape.elements();
    Place from_kept = coordinates(Index::of(Counter::kept, kept_shape.elements()), kept_shape);
    Place from_gone = coordinates(Index::of(Counter::gone, region_.gone), gone_shape);
    Place place;
    size_t next_kept = 0, next_gone = 0;
    int last = x.rank() - 1;
    while (last > 0 && x[last] == 1) --last;
    region_.rows = last >= 0 && goes(last);
    for (int axis = 0; axis < x.rank(); ++axis)
      place.push_back(goes(axis) ? from_gone[next_gone++] : from_kept[next_kept++]);
    region_.reduction = reduction_of(*reduce_);
    region_.reduces = scalar_of(reduce_->inputs[0], place);
  }

  // --- scalars ---

  int add(Scalar scalar) {
    for (int operand : {scalar.a, scalar.b, scalar.c})
      if (operand >= 0) scalar.varies |= region_.scalars[size_t(operand)].varies;
    scalar.varies |= scalar.place.uses(Counter::gone);
    for (const Range& range : scalar.ranges) scalar.varies |= range.index.uses(Counter::gone);
    region_.scalars.push_back(std::move(scalar));
    return int(region_.scalars.size()) - 1;
  }

  static std::string key_of(const Place& place, const std::vector<Range>& ranges) {
    std::string key;
    for (const Index& index : place) key += index.text() + ",";
    for (const Range& range : ranges) key += "|" + range.text();
    return key;
  }

  int scalar_of(int value, const Place& place) {
    auto key = std::pair(value, key_of(place, ranges_));
    if (auto known = known_.find(key); known != known_.end()) return known->second;
    const Node* producer = graph_.producer(value);
    bool inside = producer != nullptr && options_.is_inside(value);
    int scalar = inside ? compute(*producer, place) : load(value, place);
    const DType dtype = graph_.spec(value).dtype;
    bool loses = is_floating(dtype) && dtype != DType::float32;
    if (inside && loses && !producer->traits().moves && options_.is_rounded(value))
      scalar = add({.operation = Operation::round, .dtype = dtype, .a = scalar});
    known_[key] = scalar;
    return scalar;
  }

  int constant(double value, DType dtype) {
    return add({.operation = Operation::constant, .dtype = dtype, .alpha = value});
  }

  int load(int value, const Place& place) {
    const TensorSpec& spec = graph_.spec(value);
    const ValueInfo& info = graph_.values()[size_t(value)];
    if (info.kind == ValueKind::constant && spec.shape.elements() == 1)
      return constant(graph_.constants()[size_t(info.source)].tensor.at(0), spec.dtype);
    auto found = std::ranges::find(region_.operands, value, &Region::Operand::value);
    size_t slot = size_t(found - region_.operands.begin());
    if (found == region_.operands.end()) region_.operands.push_back({value, spec.dtype});
    return add({.operation = Operation::load,
                .dtype = spec.dtype,
                .slot = slot,
                .place = linear(place, spec.shape),
                .ranges = ranges_});
  }

  // Operand `which` of an elementwise node.
  int operand(const Node& node, size_t which, const Place& place) {
    int value = node.inputs[which];
    return scalar_of(value, broadcast_place(place, shape(value)));
  }

  int compute(const Node& node, const Place& place) {
    const std::string& op = node.op->name;
    if (&node == reduce_)
      return add({.operation = Operation::reduced, .dtype = graph_.spec(node.outputs[0]).dtype});
    if (op == "slice") return compute_slice(node, place);
    if (op == "pad") return compute_pad(node, place);
    if (op == "concat") return compute_concat(node, place);
    if (op == "transpose") return compute_transpose(node, place);
    if (op == "reshape" || op == "identity") {
      Index at = linear(place, shape(node.outputs[0]));
      return scalar_of(node.inputs[0], coordinates(at, shape(node.inputs[0])));
    }
    if (op == "broadcast_to") return operand(node, 0, place);
    return compute_elementwise(node, place);
  }

  int compute_elementwise(const Node& node, const Place& place) {
    const std::string& op = node.op->name;
    Scalar scalar{.dtype = graph_.spec(node.outputs[0]).dtype,
                  .alpha = node.attrs.get_or<double>("alpha", 0),
                  .beta = node.attrs.get_or<double>("beta", 0)};
    scalar.a = operand(node, 0, place);
    if (node.inputs.size() > 1) scalar.b = operand(node, 1, place);
    if (node.inputs.size() > 2) scalar.c = operand(node, 2, place);
    auto fn = [&] { return node.attrs.get<std::string>("fn"); };
    if (op == "unary" || op == "unary_grad") {
      scalar.operation = op == "unary" ? Operation::unary : Operation::slope;
      scalar.fn = unary_info(fn()).fn;
    } else if (op == "compare") {
      scalar.operation = Operation::compare;
      scalar.name = fn();
    } else if (op == "select" || op == "cast") {
      scalar.operation = op == "cast" ? Operation::cast : Operation::select;
    } else {
      scalar.operation = Operation::binary;
      scalar.name = op == "binary" ? fn() : op;
    }
    return add(std::move(scalar));
  }

  // --- index maps ---

  int compute_slice(const Node& node, Place place) {
    const auto& begin = node.attrs.get<Ints>("begin");
    for (size_t axis = 0; axis < place.size(); ++axis) place[axis] = place[axis] + begin[axis];
    return scalar_of(node.inputs[0], place);
  }

  int compute_transpose(const Node& node, const Place& place) {
    const auto& perm = node.attrs.get<Ints>("perm");
    Place from(place.size());
    for (size_t axis = 0; axis < place.size(); ++axis) from[size_t(perm[axis])] = place[axis];
    return scalar_of(node.inputs[0], from);
  }

  // What `inside` makes under more conditions, and `otherwise` where they fail.
  template <class Inside>
  int guarded(std::vector<Range> ranges, int otherwise, Inside inside) {
    if (ranges.empty()) return inside();
    size_t outer = ranges_.size();
    ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
    int scalar = inside();
    ranges_.resize(outer);
    DType dtype = region_.scalars[size_t(scalar)].dtype;
    if (otherwise < 0) otherwise = constant(0, dtype);
    return add({.operation = Operation::guard,
                .dtype = dtype,
                .a = scalar,
                .b = otherwise,
                .ranges = std::move(ranges)});
  }

  int compute_pad(const Node& node, Place place) {
    const auto& before = node.attrs.get<Ints>("before");
    const Shape &x = shape(node.inputs[0]), &y = shape(node.outputs[0]);
    std::vector<Range> ranges;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (x[axis] == y[axis]) continue;
      int64_t from = before[size_t(axis)];
      Index& at = place[size_t(axis)];
      ranges.push_back({at, from, from + x[axis]});
      at = (at + -from).within(std::max<int64_t>(x[axis], 1));
    }
    double value = node.attrs.get_or<double>("value", 0);
    int outside = constant(value, graph_.spec(node.outputs[0]).dtype);
    return guarded(std::move(ranges), outside, [&] { return scalar_of(node.inputs[0], place); });
  }

  int compute_concat(const Node& node, const Place& place) {
    auto axis = size_t(node.attrs.get<int64_t>("axis"));
    int64_t first = 0;
    int scalar = -1;
    for (int value : node.inputs) {
      int64_t extent = shape(value)[int(axis)];
      if (extent == 0) continue;
      Place from = place;
      from[axis] = (from[axis] + -first).within(extent);
      scalar = guarded({{place[axis], first, first + extent}}, scalar,
                       [&] { return scalar_of(value, from); });
      first += extent;
    }
    return scalar >= 0 ? scalar : constant(0, graph_.spec(node.outputs[0]).dtype);
  }

  const Graph& graph_;
  const LowerOptions& options_;
  const Node* reduce_ = nullptr;
  Region region_;
  std::vector<Range> ranges_;  // that hold where a scalar is needed
  std::map<std::pair<int, std::string>, int> known_;
};

}  // namespace

bool is_fusible(const Graph& graph, const Node& node) {
  static const std::set<std::string_view> kElementwise = {
      "unary", "unary_grad", "binary", "compare", "select", "cast", "sigmoid_cross_entropy"};
  static const std::set<std::string_view> kMoves = {"reshape", "identity", "transpose",   "concat",
                                                    "slice",   "pad",      "broadcast_to"};
  if (node.outputs.size() != 1) return false;
  const TensorSpec& spec = graph.spec(node.outputs[0]);
  if (spec.dtype == DType::bytes || spec.shape.elements() == 0) return false;
  if (node.is("reduce")) return graph.spec(node.inputs[0]).shape.elements() > 0;
  return kElementwise.contains(node.op->name) || kMoves.contains(node.op->name);
}

Region lower(const Graph& graph, const Node& root, const LowerOptions& options) {
  return Lowering(graph, root, options).take();
}

}  // namespace stoker::fuser
