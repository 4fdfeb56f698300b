// The calls that every op is tested with: tests walk OpRegistry and fail for an op without cases.
// An op's cases stand in the file of its family under op_cases/.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/op.h"
#include "support/draw.h"
#include "support/op_bounds.h"

namespace stoker::test {

inline constexpr DType kFloat32 = DType::float32, kInt32 = DType::int32, kInt64 = DType::int64,
                       kBool = DType::bool_;

// An input that an engine may take to be another op's result: the maxima of a pooling, the
// statistics of a norm. It is computed by the reference from earlier inputs of the same case, or,
// where `inputs` is empty, from the numbers drawn for this one.
struct Derived {
  std::string op;
  Attrs attrs = {};
  std::vector<size_t> inputs = {};
  size_t output = 0;
};

struct InputCase {
  Shape shape;
  Fill fill = {};
  std::optional<DType> dtype = {};  // empty: the dtype under test
  bool differentiable = true;       // false: a float whose gradient is zero by contract
  std::optional<Derived> derived = {};
};

struct OpCase {
  std::string name;  // letters, digits and _: part of a test's name
  Attrs attrs;
  std::vector<InputCase> inputs;
  Bound bound;
  bool gradient = true;            // false: a fused form, or values at a kink
  std::vector<DType> dtypes = {};  // empty: all that the op takes
};

// A call that the shape rule must refuse.
struct BadCall {
  std::string why;
  Attrs attrs;
  std::vector<TensorSpec> inputs;
};

struct OpCases {
  std::vector<OpCase> good;
  std::vector<BadCall> bad;
  size_t differentiable_outputs = 1;  // the first ones, if floats; the others carry no gradient
};

using OpCaseTable = std::map<std::string, OpCases>;
const OpCaseTable& op_cases();
// LSTMs and GRUs that several blocks of a GPU share: too large for every engine's every test.
OpCaseTable large_recurrent_cases();

void add_elementwise_cases(OpCaseTable& table);
void add_unary_cases(OpCaseTable& table);
void add_reduction_cases(OpCaseTable& table);
void add_shape_cases(OpCaseTable& table);
void add_matmul_cases(OpCaseTable& table);
void add_convolution_cases(OpCaseTable& table);
void add_pooling_cases(OpCaseTable& table);
void add_normalization_cases(OpCaseTable& table);
void add_softmax_cases(OpCaseTable& table);
void add_lookup_cases(OpCaseTable& table);
void add_order_cases(OpCaseTable& table);
void add_matrix_cases(OpCaseTable& table);
void add_augment_cases(OpCaseTable& table);
void add_optimizer_cases(OpCaseTable& table);
void add_host_cases(OpCaseTable& table);
void add_recurrent_cases(OpCaseTable& table);
void add_attention_cases(OpCaseTable& table);
void add_decoding_cases(OpCaseTable& table);
void add_collective_cases(OpCaseTable& table);
void add_quantized_cases(OpCaseTable& table);

// The dtypes of the main operand that a case is for.
std::vector<DType> dtypes_of(const OpDef& op, const OpCase& op_case);
// The inputs of a case, drawn from `seed`; `grid` as in draw(). `change` may replace a drawn input
// before others are derived from it.
using ChangeInput = std::function<Tensor(size_t input, const Tensor& drawn)>;
std::vector<Tensor> draw_inputs(const std::string& op, const OpCase& op_case, DType dtype,
                                uint64_t seed, double grid = 0, const ChangeInput& change = {});

}  // namespace stoker::test
