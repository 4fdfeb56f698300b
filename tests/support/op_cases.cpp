#include "support/op_cases.h"

#include <cmath>

#include <fmt/format.h>

#include "engine/reference/reference_backend.h"
#include "support/run_op.h"

namespace stoker::test {

const OpCaseTable& op_cases() {
  static const OpCaseTable table = [] {
    OpCaseTable all;
    add_elementwise_cases(all);
    add_unary_cases(all);
    add_reduction_cases(all);
    add_shape_cases(all);
    add_matmul_cases(all);
    add_convolution_cases(all);
    add_pooling_cases(all);
    add_normalization_cases(all);
    add_softmax_cases(all);
    add_lookup_cases(all);
    add_order_cases(all);
    add_matrix_cases(all);
    add_augment_cases(all);
    add_optimizer_cases(all);
    add_host_cases(all);
    add_recurrent_cases(all);
    add_attention_cases(all);
    add_decoding_cases(all);
    add_quantized_cases(all);
    return all;
  }();
  return table;
}

std::vector<DType> dtypes_of(const OpDef& op, const OpCase& op_case) {
  if (!op_case.dtypes.empty()) return op_case.dtypes;
  return op.dtypes.empty() ? std::vector{DType::float32} : op.dtypes;
}

namespace {

// The nearest multiples of `grid`; 0: as it is.
Tensor on_grid(const Tensor& tensor, double grid) {
  if (grid == 0 || !is_floating(tensor.dtype())) return tensor;
  std::vector<double> values = numbers(tensor);
  for (double& value : values) value = std::round(value / grid) * grid;
  return make_tensor(tensor.spec(), values);
}

}  // namespace

std::vector<Tensor> draw_inputs(const std::string& op, const OpCase& op_case, DType dtype,
                                uint64_t seed, double grid, const ChangeInput& change) {
  Rng rng = named_rng(seed, fmt::format("{}/{}", op, op_case.name));
  std::vector<Tensor> inputs;
  for (const InputCase& input : op_case.inputs) {
    TensorSpec spec = {input.dtype.value_or(dtype), input.shape};
    std::vector<Tensor> from;
    if (input.derived)
      for (size_t which : input.derived->inputs) from.push_back(inputs[which]);
    if (from.empty()) {
      from.push_back(draw(spec, input.fill, rng, grid));
      if (change) from[0] = change(inputs.size(), from[0]);
    }
    inputs.push_back(input.derived
                         ? on_grid(run_op(reference_backend(), input.derived->op,
                                          input.derived->attrs, from)[input.derived->output],
                                   grid)
                         : from[0]);
  }
  return inputs;
}

}  // namespace stoker::test
