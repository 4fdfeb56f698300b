#include <stoker/value.h>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/sketch.h"
#include "graph/substitution.h"

namespace stoker {

namespace {

struct SpecOf {
  const TensorSpec& operator()(std::monostate) const {
    throw Error(
        "an undefined Value has no shape or dtype; what may be missing, such as the mask of an "
        "input, says so with defined()");
  }
  const TensorSpec& operator()(const Value::Traced& traced) const {
    return traced.graph->spec(traced.id);
  }
  const TensorSpec& operator()(const Value::Sketched& sketched) const {
    return sketched.node->outputs[size_t(sketched.output)];
  }
  const TensorSpec& operator()(const Value::Read& read) const { return read.variable.spec(); }
  const TensorSpec& operator()(const Tensor& constant) const { return constant.spec(); }
  const TensorSpec& operator()(double) const {
    static const TensorSpec kScalar;
    return kScalar;
  }
};

}  // namespace

Value::Value(const Variable& variable)
    : where_(Read{variable, Graph::current() ? Graph::current()->serial() : 0,
                  Graph::current() ? Graph::current()->updates() : 0}) {
  if (Value substitute = substitute_for(Graph::current(), variable); substitute.defined())
    *this = substitute;
}

const TensorSpec& Value::spec() const { return std::visit(SpecOf{}, where_); }

bool same(const Value& a, const Value& b) {
  if (a.traced() && b.traced())
    return a.traced()->graph == b.traced()->graph && a.traced()->id == b.traced()->id;
  if (a.sketched() && b.sketched())
    return a.sketched()->node == b.sketched()->node && a.sketched()->output == b.sketched()->output;
  if (a.variable() && b.variable()) return *a.variable() == *b.variable();
  return false;
}

Value operator+(const Value& a, const Value& b) { return emit::binary("add", a, b); }
Value operator-(const Value& a, const Value& b) { return emit::binary("sub", a, b); }
Value operator*(const Value& a, const Value& b) { return emit::binary("mul", a, b); }
Value operator/(const Value& a, const Value& b) { return emit::binary("div", a, b); }
Value operator-(const Value& a) {
  return is_floating(a.dtype()) ? emit::unary("neg", a) : emit::binary("sub", 0.0, a);
}
Value operator<(const Value& a, const Value& b) { return ops::less(a, b); }
Value operator<=(const Value& a, const Value& b) { return ops::less_equal(a, b); }
Value operator>(const Value& a, const Value& b) { return ops::greater(a, b); }
Value operator>=(const Value& a, const Value& b) { return ops::greater_equal(a, b); }

Value Value::operator[](int64_t index) const {
  const Shape& shape = this->shape();
  if (shape.rank() == 0) throw ShapeError(fmt::format("[{}]: a scalar has no entries", index));
  if (shape[0] == -1)
    throw ShapeError(
        fmt::format("[{}]: the first axis of {} is the batch of a model, whose samples have no "
                    "numbers; ops::take(x, {}, 1) takes an entry of the axis behind it",
                    index, to_string(shape), index));
  if (index < -shape[0] || index >= shape[0])
    throw ShapeError(fmt::format("[{}]: the first axis of {} has {} entries", index,
                                 to_string(shape), shape[0]));
  std::vector<int64_t> begin(size_t(shape.rank()), 0), size(size_t(shape.rank()), -1);
  begin[0] = index < 0 ? index + shape[0] : index;
  size[0] = 1;
  return ops::squeeze(ops::slice(*this, begin, size), 0);
}

}  // namespace stoker
