// Trees of elementwise nodes become programs of engine/cuda/kernels/pointwise.h.
#include "engine/cuda/kernels/pointwise.h"

#include <algorithm>
#include <array>

#include "engine/cuda/ops/op_builders.h"
#include "graph/unary.h"

namespace stoker::cuda {

namespace {

template <class Fn, size_t N>
Fn find_fn(const std::array<std::string_view, N>& names, const std::string& name) {
  return Fn(std::ranges::find(names, name) - names.begin());
}

constexpr auto kBinary = std::to_array<std::string_view>(
    {"add", "sub", "mul", "div", "pow", "maximum", "minimum", "mod", "floor_div", "bit_and",
     "bit_or", "bit_xor", "shift_left", "shift_right"});
constexpr auto kCompare = std::to_array<std::string_view>(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"});

// How an operand of shape `small` is read for elements of `large`.
PointwiseOperand reading_of(const Shape& small, const Shape& large, DType dtype) {
  PointwiseOperand operand;
  operand.dtype = dtype;
  int64_t elements = small.elements();
  if (elements == large.elements()) return operand;
  if (elements == 1) {
    operand.reading = Reading::scalar;
    return operand;
  }
  int missing = large.rank() - small.rank();
  bool trailing = true, ones = false;  // from the back: equal axes, then only ones
  for (int axis = small.rank() - 1; axis >= 0; --axis) {
    if (small[axis] == 1 && large[axis + missing] != 1) ones = true;
    trailing &= ones ? small[axis] == 1 : small[axis] == large[axis + missing];
  }
  if (trailing) {
    operand.reading = Reading::channels;
    operand.extent = elements;
    return operand;
  }
  operand.reading = Reading::strided;
  int64_t stride = 1;
  for (int axis = small.rank() - 1; axis >= 0; --axis) {
    operand.strides[axis + missing] = small[axis] == 1 ? 0 : stride;
    stride *= small[axis];
  }
  return operand;
}

class Compiler {
 public:
  Compiler(Builder& builder, int root) : b_(builder), root_(root) {
    const TensorSpec& spec = b_.spec(node(root).outputs[0]);
    program_.elements = spec.shape.elements();
    program_.out_dtype = spec.dtype;
    program_.rank = spec.shape.rank();
    for (int axis = 0; axis < spec.shape.rank(); ++axis) program_.dims[axis] = spec.shape[axis];
    shape_ = spec.shape;
    evaluate(root);
    program_.integers = domain_ == Domain::integers;
  }

  void emit() {
    int value = node(root_).outputs[0];
    std::vector<int> replaceable;
    for (size_t i = 0; i < reads_.size(); ++i)
      if (may_replace(i)) replaceable.push_back(reads_[i]);
    int out = b_.define_over(value, replaceable);
    size_t operands = reads_.size();
    b_.emit({"own:pointwise", reads_, {out}}, [program = program_, operands](const Launch& at) {
      PointwiseProgram bound = program;
      for (size_t i = 0; i < operands; ++i) bound.operand[i].data = at.get(i);
      bound.out = at.get(operands);
      run_pointwise(bound, at.stream);
    });
  }

 private:
  const Node& node(int index) const { return b_.graph().nodes()[size_t(index)]; }

  // Elements are read before they are written only where both are at one place and of one size,
  // and no other operand reads the same memory otherwise.
  bool may_replace(size_t which) const {
    for (size_t i = 0; i < reads_.size(); ++i)
      if (reads_[i] == reads_[which] && program_.operand[i].reading != Reading::same) return false;
    return size_of(program_.operand[which].dtype) == size_of(program_.out_dtype);
  }

  void step(PointwiseOp op, uint8_t fn, int a, bool reversed = false, double alpha = 0,
            double beta = 0) {
    if (program_.steps == PointwiseProgram::kMaxSteps)
      throw Error("an elementwise expression became too long");
    program_.step[program_.steps++] = {op, fn, int8_t(a), reversed, float(alpha), float(beta)};
  }

  int temporary() {
    if (temporaries_ == PointwiseProgram::kMaxTemporaries)
      throw Error("an elementwise expression became too deep");
    return temporaries_++;
  }

  int leaf(int value) {
    int buffer = b_.input(value);
    PointwiseOperand operand = reading_of(b_.shape(value), shape_, b_.spec(value).dtype);
    for (size_t i = 0; i < reads_.size(); ++i)
      if (reads_[i] == buffer && program_.operand[i].dtype == operand.dtype &&
          program_.operand[i].reading == operand.reading && operand.reading != Reading::strided)
        return int(i);
    program_.operand[program_.operands++] = operand;
    reads_.push_back(buffer);
    return int(reads_.size()) - 1;
  }

  // The node that makes a value inside this kernel, or -1.
  int inner(int value) const {
    const Node* producer = b_.graph().producer(value);
    if (producer == nullptr) return -1;
    int index = int(producer - b_.graph().nodes().data());
    return b_.fusion().into[size_t(index)] == root_ ? index : -1;
  }

  // A value as the operand of a step: where it can be read while the accumulator holds another.
  int operand(int value) {
    int index = inner(value);
    if (index < 0) return leaf(value);
    evaluate(index);
    int where = temporary();
    step(PointwiseOp::save, uint8_t(where), -1);
    return PointwiseProgram::kTemporary + where;
  }

  void into_accumulator(int value) {
    int index = inner(value);
    if (index >= 0)
      evaluate(index);
    else
      step(PointwiseOp::load, 0, leaf(value));
  }

  // acc = op(a, b) with whichever of the two is computed here in the accumulator.
  void pair(PointwiseOp op, uint8_t fn, int a, int b, double alpha = 0, double beta = 0) {
    bool reversed = inner(a) < 0 && inner(b) >= 0;
    int second = operand(reversed ? a : b);
    into_accumulator(reversed ? b : a);
    step(op, fn, second, reversed, alpha, beta);
    if (second >= PointwiseProgram::kTemporary) --temporaries_;
  }

  void evaluate(int index) {
    const Node& n = node(index);
    const std::string& op = n.op->name;
    if (Domain own = domain_of(b_.graph(), n); own != Domain::any) domain_ = own;
    double alpha = n.attrs.get_or<double>("alpha", 0), beta = n.attrs.get_or<double>("beta", 0);
    auto fn = [&] { return n.attrs.get<std::string>("fn"); };
    if (op == "unary") {
      into_accumulator(n.inputs[0]);
      step(PointwiseOp::unary, uint8_t(unary_info(fn()).fn), -1, false, alpha, beta);
    } else if (op == "unary_grad") {  // v, dy: the accumulator holds dy
      pair(PointwiseOp::slope, uint8_t(unary_info(fn()).fn), n.inputs[1], n.inputs[0], alpha, beta);
    } else if (op == "binary") {
      pair(PointwiseOp::binary, uint8_t(find_fn<BinaryFn>(kBinary, fn())), n.inputs[0],
           n.inputs[1]);
    } else if (op == "compare") {
      pair(PointwiseOp::compare, uint8_t(find_fn<CompareFn>(kCompare, fn())), n.inputs[0],
           n.inputs[1]);
    } else if (op == "sigmoid_cross_entropy") {
      pair(PointwiseOp::binary, uint8_t(BinaryFn::sigmoid_cross_entropy), n.inputs[0], n.inputs[1]);
    } else if (op == "select") {
      into_accumulator(n.inputs[0]);
      int condition = temporary();
      step(PointwiseOp::save, uint8_t(condition), -1);
      int otherwise = operand(n.inputs[2]);
      into_accumulator(n.inputs[1]);
      step(PointwiseOp::select, uint8_t(condition), otherwise);
      if (otherwise >= PointwiseProgram::kTemporary) --temporaries_;
      --temporaries_;
    } else if (op == "cast") {
      into_accumulator(n.inputs[0]);
      if (index != root_) step(PointwiseOp::round, uint8_t(b_.spec(n.outputs[0]).dtype), -1);
    } else {  // broadcast_to
      into_accumulator(n.inputs[0]);
    }
  }

  Builder& b_;
  int root_;
  Shape shape_;
  PointwiseProgram program_;
  std::vector<int> reads_;
  Domain domain_ = Domain::any;
  int temporaries_ = 0;
};

void build_pointwise(Builder& b, const Node& node) {
  if (const auto& tail = b.fusion().tails[size_t(b.node_index())])
    return emit_norm_tail(b, *tail, node.outputs[0]);
  Compiler(b, b.node_index()).emit();
}

}  // namespace

void emit_epilogue(Builder& b, const Node& node, const Epilogue& epilogue) {
  auto activation = node.attrs.get_or<std::string>("activation", "");
  if (epilogue.bias < 0 && activation.empty() && epilogue.from == epilogue.out) return;
  PointwiseProgram program;
  const TensorSpec& spec = b.spec(node.outputs[0]);
  program.elements = spec.shape.elements();
  program.out_dtype = spec.dtype;
  program.operand[0].dtype = epilogue.from_dtype;
  program.operand[1].dtype = spec.dtype;
  program.operands = epilogue.bias < 0 ? 1 : 2;
  program.operand[1].reading = Reading::channels;
  program.operand[1].extent = std::max<int64_t>(spec.shape[-1], 1);
  program.step[program.steps++] = {PointwiseOp::load, 0, 0};
  if (epilogue.bias >= 0)
    program.step[program.steps++] = {PointwiseOp::binary, uint8_t(BinaryFn::add), 1};
  if (!activation.empty())
    program.step[program.steps++] = {PointwiseOp::unary,
                                     uint8_t(unary_info(activation).fn),
                                     -1,
                                     false,
                                     float(node.attrs.get_or<double>("alpha", 0)),
                                     float(node.attrs.get_or<double>("beta", 0))};
  std::vector<int> reads = {epilogue.from};
  if (epilogue.bias >= 0) reads.push_back(epilogue.bias);
  b.emit({"own:pointwise", reads, {epilogue.out}, "epilogue"}, [program](const Launch& at) {
    PointwiseProgram bound = program;
    for (int i = 0; i < program.operands; ++i) bound.operand[i].data = at.get(size_t(i));
    bound.out = at.get(size_t(program.operands));
    run_pointwise(bound, at.stream);
  });
}

void add_pointwise_builders(OpBuilders& table) {
  for (const char* op : {"unary", "unary_grad", "binary", "compare", "select", "cast",
                         "broadcast_to", "sigmoid_cross_entropy"})
    table[op] = {build_pointwise};
}

}  // namespace stoker::cuda
