#include "engine/cuda/fuser/printer.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/convert.h"

namespace stoker::fuser {

std::string_view element_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float";
    case DType::float16:
      return "Half";
    case DType::bfloat16:
      return "Bfloat";
    case DType::int8:
      return "signed char";
    case DType::int16:
      return "short";
    case DType::int32:
      return "int";
    case DType::int64:
      return "long long";
    case DType::uint8:
      return "unsigned char";
    case DType::bool_:
      return "bool";
    case DType::bytes:
      break;
  }
  return "void";
}

std::string_view compute_type(DType dtype) {
  if (is_floating(dtype)) return "float";
  return dtype == DType::bool_ ? "bool" : "long long";
}

std::string literal(double value, DType dtype) {
  if (dtype == DType::bool_) return value != 0 ? "true" : "false";
  if (!is_floating(dtype)) return fmt::format("{}ll", convert<int64_t>(value));
  std::string bits = fmt::format("__uint_as_float({:#x}u)", std::bit_cast<uint32_t>(float(value)));
  return dtype == DType::float32 ? bits : fmt::format("stored<{}>({})", element_type(dtype), bits);
}

Access access_of(const Scalar& load, Counter counter, int lanes) {
  if (lanes == 1) return Access::vector;
  bool uniform = std::ranges::all_of(
      load.ranges, [&](const Range& range) { return range.is_uniform(counter, lanes); });
  LaneForm form = lane_form(load.place, counter, lanes);
  if (!uniform || !form.regular) return Access::each;
  if (form.stride == 0) return Access::broadcast;
  return form.stride == 1 && form.alignment % lanes == 0 ? Access::vector : Access::each;
}

std::vector<int> needed(const Region& region, int wanted, bool varying) {
  std::vector<bool> reached(region.scalars.size(), false);
  reached[size_t(wanted)] = true;
  for (int i = wanted; i >= 0; --i) {
    if (!reached[size_t(i)]) continue;
    const Scalar& scalar = region.scalars[size_t(i)];
    for (int operand : {scalar.a, scalar.b, scalar.c})
      if (operand >= 0) reached[size_t(operand)] = true;
  }
  std::vector<int> found;
  for (int i = 0; i <= wanted; ++i)
    if (reached[size_t(i)] && region.scalars[size_t(i)].varies == varying) found.push_back(i);
  return found;
}

Printer::Printer(const Region& region, std::vector<int> scalars, Counter counter, int lanes,
                 int unroll)
    : region_(region),
      scalars_(std::move(scalars)),
      counter_(counter),
      lanes_(lanes),
      unroll_(unroll) {
  for (int scalar : scalars_)
    if (at(scalar).operation == Operation::load) loads_.push_back(scalar);
}

// --- loads ---

bool Printer::is_tiled(int scalar) const {
  return std::ranges::find(tiled_, scalar) != tiled_.end();
}

Access Printer::access(int scalar) const {
  return is_tiled(scalar) ? Access::each : access_of(at(scalar), counter_, lanes_);
}

std::string Printer::declarations() const {
  std::string text;
  for (int scalar : loads_) {
    const Scalar& load = at(scalar);
    std::string_view type = element_type(load.dtype);
    const char* start = load.ranges.empty() ? "" : " = {}";
    if (access(scalar) == Access::broadcast)
      text += fmt::format("  {} l{}[{}]{};\n", type, scalar, unroll_, start);
    else
      text += fmt::format("  Pack<{}, {}> l{}[{}]{};\n", type, lanes_, scalar, unroll_, start);
  }
  return text;
}

namespace {

std::string all(const std::vector<Range>& ranges) {
  std::string text;
  for (const Range& range : ranges) text += (text.empty() ? "" : " && ") + range.text();
  return text;
}

std::string condition(const std::vector<Range>& ranges) {
  return ranges.empty() ? "" : fmt::format("if ({}) ", all(ranges));
}

}  // namespace

std::string Printer::one_load(int scalar) const {
  const Scalar& load = at(scalar);
  std::string where = load.place.text(), from = fmt::format("p{}", load.slot);
  std::string_view type = element_type(load.dtype);
  switch (access(scalar)) {
    case Access::vector:
      return fmt::format("    {}l{}[u] = load<{}, {}>({} + ({}));\n", condition(load.ranges),
                         scalar, type, lanes_, from, where);
    case Access::broadcast:
      return fmt::format("    {}l{}[u] = {}[{}];\n", condition(load.ranges), scalar, from, where);
    case Access::each:
      break;
  }
  std::string counter = counter_name();
  return fmt::format(
      "    {{ const Int base = {1};\n"
      "#pragma unroll\n"
      "      for (int lane = 0; lane < {0}; ++lane) {{ const Int {1} = base + lane; "
      "{2}l{3}[u].at[lane] "
      "= {4}[{5}]; }} }}\n",
      lanes_, counter, condition(load.ranges), scalar, from, where);
}

std::string Printer::loads() const {
  std::string text;
  for (int scalar : loads_)
    if (!is_tiled(scalar)) text += one_load(scalar);
  return text;
}

// --- arithmetic ---

std::string Printer::name_of(int scalar) const {
  bool kept = std::ranges::find(kept_, scalar) != kept_.end();
  return kept ? fmt::format("o{}[lane]", scalar) : fmt::format("s{}", scalar);
}

std::string Printer::expression(int scalar) const {
  const Scalar& s = at(scalar);
  auto a = [&] { return name_of(s.a); };
  auto b = [&] { return name_of(s.b); };
  std::string_view type = element_type(s.dtype);
  // 16-bit results show no more.
  const char* math = size_of(region_.store.dtype) == 2 ? "FastMath" : "PreciseMath";
  auto function = [&](const char* name) {
    return fmt::format("{}<{}>(UnaryFn({}), {}, {}, {})", name, math, int(s.fn), a(),
                       literal(s.alpha, DType::float32), literal(s.beta, DType::float32));
  };
  switch (s.operation) {
    case Operation::load:
      return access(scalar) == Access::broadcast ? fmt::format("read(l{}[u])", scalar)
                                                 : fmt::format("read(l{}[u].at[lane])", scalar);
    case Operation::constant:
      return literal(s.alpha, s.dtype);
    case Operation::unary:
      return function("unary_value");
    case Operation::slope:
      return b() + " * " + function("unary_slope");
    case Operation::binary:
      return is_floating(s.dtype)
                 ? fmt::format("binary_{}({}, {})", s.name, a(), b())
                 : fmt::format("stored<{}>(binary_{}({}, {}))", type, s.name, a(), b());
    case Operation::compare:
      return fmt::format("compare_{}({}, {})", s.name, a(), b());
    case Operation::select:
      return fmt::format("{} ? {} : {}", a(), b(), name_of(s.c));
    case Operation::guard:
      return fmt::format("({}) ? {} : {}",
                         is_uniform(s) ? fmt::format("g{}", scalar) : all(s.ranges), a(), b());
    case Operation::cast:
    case Operation::round:
      return fmt::format("stored<{}>({})", type, a());
    case Operation::reduced:
      return "total[lane]";
  }
  return "0";
}

bool Printer::is_uniform(const Scalar& guard) const {
  return std::ranges::all_of(
      guard.ranges, [&](const Range& range) { return range.is_uniform(counter_, lanes_); });
}

std::string Printer::for_each_lane(const std::string& then) const {
  std::string counter = counter_name(), text;
  // Conditions that all lanes share are divided for once.
  text += "    {\n";
  for (int scalar : scalars_)
    if (at(scalar).operation == Operation::guard && is_uniform(at(scalar)))
      text += fmt::format("    const bool g{} = {};\n", scalar, all(at(scalar).ranges));
  text += fmt::format(
      "    {{ const Int base = {1};\n"
      "#pragma unroll\n"
      "    for (int lane = 0; lane < {0}; ++lane) {{\n"
      "      const Int {1} = base + lane;\n",
      lanes_, counter);
  for (int scalar : scalars_)
    text += fmt::format("      const {} s{} = {};\n", compute_type(at(scalar).dtype), scalar,
                        expression(scalar));
  return text + then + "    } } }\n";
}

}  // namespace stoker::fuser
