#include "engine/fuser/interpret.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/reference/unary_math.h"
#include "support/draw.h"
#include "support/run_op.h"

namespace stoker::test {

namespace {

using fuser::Operation;
using fuser::Reduction;
using fuser::Region;
using fuser::Scalar;
using Number = reference::Number;
using Array = std::vector<Number>;

Number slope(UnaryFn fn, Number from, Number alpha, Number beta) {
  return unary_info(fn).gradient_from_output
             ? reference::derivative_from_output(fn, from, alpha, beta)
             : reference::derivative_from_input(fn, from, alpha, beta);
}

Number binary(const std::string& name, Number a, Number b) {
  if (name == "add") return a + b;
  if (name == "sub") return a - b;
  if (name == "mul") return a * b;
  if (name == "div") return a / b;
  if (name == "pow") return std::pow(a, b);
  if (name == "maximum") return std::max(a, b);
  if (name == "minimum") return std::min(a, b);
  return std::max<Number>(a, 0) - a * b + std::log1p(std::exp(-std::abs(a)));
}

bool compare(const std::string& name, Number a, Number b) {
  if (name == "equal") return a == b;
  if (name == "not_equal") return a != b;
  if (name == "less") return a < b;
  if (name == "less_equal") return a <= b;
  return name == "greater" ? a > b : a >= b;
}

Number as_dtype(Number x, DType dtype) {
  if (dtype == DType::bool_) return x != 0 ? 1 : 0;
  return is_floating(dtype) ? x : std::trunc(x);
}

class Interpreter {
 public:
  Interpreter(const Region& region, const std::map<int, Array>& values)
      : region_(region), values_(values) {}

  Array run() {
    Array result;
    for (int64_t k = 0; k < region_.kept; ++k) {
      if (region_.reduction != Reduction::none) total_ = reduce(k);
      result.push_back(evaluate(region_.store.scalar, k, 0));
    }
    return result;
  }

 private:
  Number reduce(int64_t k) {
    Number total = evaluate(region_.reduces, k, 0);
    for (int64_t r = 1; r < region_.gone; ++r) {
      Number next = evaluate(region_.reduces, k, r);
      switch (region_.reduction) {
        case Reduction::max:
          total = std::max(total, next);
          break;
        case Reduction::min:
          total = std::min(total, next);
          break;
        case Reduction::prod:
          total *= next;
          break;
        default:
          total += next;
      }
    }
    return region_.reduction == Reduction::mean ? total / Number(region_.gone) : total;
  }

  bool hold(const std::vector<fuser::Range>& ranges, int64_t k, int64_t r) const {
    return std::ranges::all_of(ranges, [&](const fuser::Range& each) { return each.holds(k, r); });
  }

  Number load(const Scalar& s, int64_t k, int64_t r) const {
    if (!hold(s.ranges, k, r)) return NAN;  // must not be used
    return values_.at(region_.operands[s.slot].value).at(size_t(s.place.value(k, r)));
  }

  Number evaluate(int index, int64_t k, int64_t r) const {
    const Scalar& s = region_.scalars[size_t(index)];
    auto a = [&] { return evaluate(s.a, k, r); };
    auto b = [&] { return evaluate(s.b, k, r); };
    switch (s.operation) {
      case Operation::load:
        return load(s, k, r);
      case Operation::constant:
        return s.alpha;
      case Operation::unary:
        return reference::unary_value(s.fn, a(), s.alpha, s.beta);
      case Operation::slope:
        return b() * slope(s.fn, a(), s.alpha, s.beta);
      case Operation::binary:
        return binary(s.name, a(), b());
      case Operation::compare:
        return compare(s.name, a(), b()) ? 1 : 0;
      case Operation::select:
        return a() != 0 ? b() : evaluate(s.c, k, r);
      case Operation::guard:
        return hold(s.ranges, k, r) ? a() : b();
      case Operation::cast:
      case Operation::round:
        return as_dtype(a(), s.dtype);
      case Operation::reduced:
        return total_;
    }
    return NAN;
  }

  const Region& region_;
  const std::map<int, Array>& values_;
  Number total_ = 0;
};

Array array_of(const Tensor& tensor) {
  std::vector<double> all = numbers(tensor);
  return {all.begin(), all.end()};
}

Tensor tensor_of(const Array& array, const TensorSpec& spec) {
  return make_tensor({is_floating(spec.dtype) ? DType::float32 : spec.dtype, spec.shape},
                     {array.begin(), array.end()});
}

Array run_by(const RunRegion& run, const Graph& graph, const Region& region,
             const std::map<int, Array>& values) {
  std::vector<Tensor> operands;
  for (const Region::Operand& operand : region.operands) {
    const Array& array = values.at(operand.value);
    operands.push_back(make_tensor(graph.spec(operand.value), {array.begin(), array.end()}));
  }
  return array_of(run(region, operands, graph.spec(region.store.value)));
}

}  // namespace

FusedRun run_fused(const Graph& graph, const std::vector<Tensor>& inputs,
                   const fuser::RegionOptions& options, const RunRegion& run_region) {
  FusedRun run;
  Readers readers(graph);
  std::map<int, const fuser::FoundRegion*> by_root;
  std::set<int> inside;
  std::vector<fuser::FoundRegion> regions = fuser::find_regions(readers, options);
  for (const fuser::FoundRegion& each : regions) {
    by_root[each.root] = &each;
    run.regions += each.nodes.size() > 1;
    for (int node : each.nodes)
      if (node != each.root) inside.insert(node);
  }
  run.inlined = inside.size();
  std::map<int, Array> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].value] = array_of(inputs[i]);
  for (const GraphConstant& constant : graph.constants())
    values[constant.value] = array_of(constant.tensor);
  for (int i = 0; i < int(graph.nodes().size()); ++i) {
    const Node& node = graph.nodes()[size_t(i)];
    if (auto found = by_root.find(i); found != by_root.end()) {
      const Region& region = *found->second->region;
      values[node.outputs[0]] = run_region == nullptr ? Interpreter(region, values).run()
                                                      : run_by(run_region, graph, region, values);
    } else if (!inside.contains(i)) {
      std::vector<Tensor> operands;
      for (int value : node.inputs)
        operands.push_back(tensor_of(values.at(value), graph.spec(value)));
      std::vector<Tensor> results = run_op(exact_reference(), node.op->name, node.attrs, operands);
      for (size_t o = 0; o < results.size(); ++o) values[node.outputs[o]] = array_of(results[o]);
    }
  }
  for (const GraphOutput& output : graph.outputs())
    run.outputs.push_back(tensor_of(values.at(output.value), graph.spec(output.value)));
  return run;
}

}  // namespace stoker::test
