// Ops on two or three operands with NumPy broadcasting: binary, compare, select.
#include <cmath>
#include <string_view>

#include "base/integer_math.h"
#include "base/visit_dtype.h"
#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/ops/strided.h"

namespace stoker::cpu {

std::array<int64_t, Shape::kMaxRank> broadcast_strides(const Shape& shape, const Shape& to) {
  std::array<int64_t, Shape::kMaxRank> strides{};
  int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    strides[size_t(d + to.rank() - shape.rank())] = shape[d] == 1 ? 0 : stride;
    stride *= shape[d];
  }
  return strides;
}

namespace {

constexpr std::array<std::string_view, kBinaryFunctions> kBinaryNames = {
    "add", "sub",       "mul",     "div",    "pow",     "maximum",    "minimum",
    "mod", "floor_div", "bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"};
constexpr std::array<std::string_view, 6> kCompareNames = {
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"};

template <size_t kCount>
int index_of(const std::array<std::string_view, kCount>& names, const std::string& name) {
  for (size_t i = 0; i < kCount; ++i)
    if (names[i] == name) return int(i);
  throw ValueError("unknown function \"" + name + "\" of two operands");
}

// --- binary, float32 ---

// Two operands of one shape, or one of them a number: on any layout whose padding stays zero.
bool build_on_layout(Builder& b, const Node& node, int fn) {
  int left = node.inputs[0], right = node.inputs[1], y = node.outputs[0];
  bool scalar_a = b.shape(left).elements() == 1, scalar_b = b.shape(right).elements() == 1;
  bool fits_a = b.shape(left) == b.shape(y), fits_b = b.shape(right) == b.shape(y);
  if (!(fits_a || scalar_a) || !(fits_b || scalar_b) || (!fits_a && !fits_b)) return false;
  const Layout& of_left = fits_a ? b.layout(left, fits_b ? b.layout(right) : Layout()) : Layout();
  Layout layout = fits_a && (!of_left.is_plain() || !fits_b) ? of_left : b.layout(right, of_left);
  bool keeps_zero = fits_a && fits_b ? fn <= kMul || fn == kMaximum || fn == kMinimum
                                     : fn == kMul || (fn == kDiv && !fits_b);
  if (layout.is_padded() && !keeps_zero) layout = {};
  int64_t n = layout.stored_elements(b.spec(y));
  int a = fits_a ? b.input(left, layout) : b.plain(left),
      c = fits_b ? b.input(right, layout) : b.plain(right);
  int out = b.define_over(y, layout, {a, c});
  auto function = fits_a && fits_b ? kernels().binary[fn]
                  : fits_a         ? kernels().binary_scalar_b[fn]
                                   : kernels().binary_scalar_a[fn];
  int64_t step_a = fits_a ? 1 : 0, step_b = fits_b ? 1 : 0,
          grain = fn == kPow || fn == kMod || fn == kFloorDiv ? kGrain / 8 : kGrain;
  b.emit({own_kernel(), {a, c}, {out}}, [=](Pointers p) {
    parallel_for(
        n, grain,
        [&](int64_t begin, int64_t end) {
          function(p.in<float>(0) + begin * step_a, p.in<float>(1) + begin * step_b,
                   p.out<float>(2) + begin, end - begin);
        },
        16);
  });
  return true;
}

// After collapsing, an operand steps by 1 along a run, or stays (broadcast).
void build_float_binary(Builder& b, const Node& node, int fn) {
  auto loop = broadcast_loop<3>(b.shape(node.outputs[0]),
                                {b.shape(node.inputs[0]), b.shape(node.inputs[1])});
  auto function = loop.step(1) == 0   ? kernels().binary_scalar_a[fn]
                  : loop.step(2) == 0 ? kernels().binary_scalar_b[fn]
                                      : kernels().binary[fn];
  int a = b.plain(node.inputs[0]), c = b.plain(node.inputs[1]);
  // Over an operand only if it is read in the order in which y is written.
  bool over_a = b.shape(node.inputs[0]) == b.shape(node.outputs[0]);
  int out = over_a ? b.define_over(node.outputs[0], {}, {a}) : b.define(node.outputs[0]);
  b.emit({own_kernel(), {a, c}, {out}}, [=](Pointers p) {
    for_each_run(loop, [&](const auto& at, int64_t count) {
      function(p.in<float>(0) + at[1], p.in<float>(1) + at[2], p.out<float>(2) + at[0], count);
    });
  });
}

// --- any element type ---

// y[i] = f(a[i], b[i])
template <class T, class Y, class F>
void build_zip(Builder& b, const Node& node, F function) {
  auto loop = broadcast_loop<3>(b.shape(node.outputs[0]),
                                {b.shape(node.inputs[0]), b.shape(node.inputs[1])});
  int a = b.plain(node.inputs[0]), c = b.plain(node.inputs[1]);
  b.emit({own_kernel(), {a, c}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    for_each_run(loop, [&](const auto& at, int64_t count) {
      const T *left = p.in<T>(0) + at[1], *right = p.in<T>(1) + at[2];
      Y* y = p.out<Y>(2) + at[0];
      int64_t step_a = loop.step(1), step_b = loop.step(2);
      for (int64_t i = 0; i < count; ++i) y[i] = function(left[i * step_a], right[i * step_b]);
    });
  });
}

// Integers wrap, as the reference's do; division by zero gives zero.
template <class T>
void build_integer_binary(Builder& b, const Node& node, int fn) {
  using U = std::make_unsigned_t<T>;
  switch (fn) {
    case kAdd:
      return build_zip<T, T>(b, node, [](T x, T y) { return T(U(x) + U(y)); });
    case kSub:
      return build_zip<T, T>(b, node, [](T x, T y) { return T(U(x) - U(y)); });
    case kMul:
      return build_zip<T, T>(b, node, [](T x, T y) { return T(U(x) * U(y)); });
    case kDiv:
      return build_zip<T, T>(b, node, [](T x, T y) {
        return y == 0 ? T(0) : y == -1 ? T(-U(x)) : T(x / y);
      });
    case kMaximum:
      return build_zip<T, T>(b, node, [](T x, T y) { return x >= y ? x : y; });
    case kMinimum:
      return build_zip<T, T>(b, node, [](T x, T y) { return x <= y ? x : y; });
    case kMod:
      return build_zip<T, T>(b, node, [](T x, T y) { return T(floor_mod(x, y)); });
    case kFloorDiv:
      return build_zip<T, T>(b, node, [](T x, T y) { return T(floor_div(x, y)); });
    case kBitAnd:
      return build_zip<T, T>(b, node, [](T x, T y) { return T(x & y); });
    case kBitOr:
      return build_zip<T, T>(b, node, [](T x, T y) { return T(x | y); });
    case kBitXor:
      return build_zip<T, T>(b, node, [](T x, T y) { return T(x ^ y); });
    case kShiftLeft:
      return build_zip<T, T>(b, node, [](T x, T y) { return T(shift_left(x, y)); });
    case kShiftRight:
      return build_zip<T, T>(b, node, [](T x, T y) { return T(shift_right(x, y)); });
    default:
      throw Error("the CPU engine has no integer " + node.attrs.get<std::string>("fn"));
  }
}

template <class T>
void build_compare_of(Builder& b, const Node& node, int fn) {
  switch (fn) {
    case 0:
      return build_zip<T, bool>(b, node, [](T x, T y) { return x == y; });
    case 1:
      return build_zip<T, bool>(b, node, [](T x, T y) { return x != y; });
    case 2:
      return build_zip<T, bool>(b, node, [](T x, T y) { return x < y; });
    case 3:
      return build_zip<T, bool>(b, node, [](T x, T y) { return x <= y; });
    case 4:
      return build_zip<T, bool>(b, node, [](T x, T y) { return x > y; });
    default:
      return build_zip<T, bool>(b, node, [](T x, T y) { return x >= y; });
  }
}

// Elements of one size are moved alike, whatever they mean.
template <class T>
void build_select_of(Builder& b, const Node& node) {
  auto loop = broadcast_loop<4>(
      b.shape(node.outputs[0]),
      {b.shape(node.inputs[0]), b.shape(node.inputs[1]), b.shape(node.inputs[2])});
  int condition = b.plain(node.inputs[0]), a = b.plain(node.inputs[1]), c = b.plain(node.inputs[2]);
  b.emit({own_kernel(), {condition, a, c}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    for_each_run(loop, [&](const auto& at, int64_t count) {
      const bool* which = p.in<bool>(0) + at[1];
      const T *left = p.in<T>(1) + at[2], *right = p.in<T>(2) + at[3];
      T* y = p.out<T>(3) + at[0];
      int64_t step = loop.step(1), step_a = loop.step(2), step_b = loop.step(3);
      for (int64_t i = 0; i < count; ++i)
        y[i] = which[i * step] ? left[i * step_a] : right[i * step_b];
    });
  });
}

void build_binary(Builder& b, const Node& node) {
  int fn = index_of(kBinaryNames, node.attrs.get<std::string>("fn"));
  switch (b.spec(node.inputs[0]).dtype) {
    case DType::int32:
      return build_integer_binary<int32_t>(b, node, fn);
    case DType::int64:
      return build_integer_binary<int64_t>(b, node, fn);
    default:
      break;
  }
  if (!build_on_layout(b, node, fn)) build_float_binary(b, node, fn);
}

void build_compare(Builder& b, const Node& node) {
  int fn = index_of(kCompareNames, node.attrs.get<std::string>("fn"));
  switch (b.spec(node.inputs[0]).dtype) {
    case DType::float32:
      return build_compare_of<float>(b, node, fn);
    case DType::int32:
      return build_compare_of<int32_t>(b, node, fn);
    case DType::int64:
      return build_compare_of<int64_t>(b, node, fn);
    case DType::uint8:
      return build_compare_of<uint8_t>(b, node, fn);
    default:
      return build_compare_of<bool>(b, node, fn);
  }
}

void build_select(Builder& b, const Node& node) {
  switch (size_of(b.spec(node.inputs[1]).dtype)) {
    case 1:
      return build_select_of<uint8_t>(b, node);
    case 2:
      return build_select_of<uint16_t>(b, node);
    case 4:
      return build_select_of<uint32_t>(b, node);
    default:
      return build_select_of<uint64_t>(b, node);
  }
}

}  // namespace

void add_broadcast_builders(OpBuilders& table) {
  table["binary"] = {numbers, build_binary};
  table["compare"] = {comparable, build_compare};
  table["select"] = {booleans, build_select};
}

}  // namespace stoker::cpu
