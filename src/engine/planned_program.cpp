#include "engine/planned_program.h"

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/visit_dtype.h"

namespace stoker {

void PlannedProgram::set_plan(BufferPlan plan, std::vector<KernelInfo> kernels) {
  plan_ = std::move(plan);
  kernels_ = std::move(kernels);
  for (size_t i = 0; i < kernels_.size(); ++i) {
    kernels_[i].memory = plan_.at_work[i].begun;
    kernels_[i].live = plan_.at_work[i].live;
  }
}

const TensorSpec& PlannedProgram::checked_output(size_t index) const {
  const std::vector<GraphOutput>& outputs = planned_graph_.outputs();
  if (index >= outputs.size())
    throw ValueError(
        fmt::format("output {} of a program with {} does not exist", index, outputs.size()));
  if (!has_run()) throw Error("a program has no outputs before its first run");
  return planned_graph_.spec(outputs[index].value);
}

const TensorSpec& PlannedProgram::checked_scalar(size_t index) const {
  const TensorSpec& spec = checked_output(index);
  if (spec.shape.elements() != 1)
    throw ShapeError(fmt::format("output \"{}\" is {}, not a scalar",
                                 planned_graph_.outputs()[index].name, to_string(spec)));
  return spec;
}

Tensor PlannedProgram::output(size_t index) const {
  const TensorSpec& spec = checked_output(index);
  Tensor tensor(spec.dtype, spec.shape);
  read_output(index, tensor.raw_mut(), tensor.bytes());
  return tensor;
}

double PlannedProgram::scalar(size_t index) const {
  const TensorSpec& spec = checked_scalar(index);
  std::array<std::byte, 8> bytes{};
  read_output(index, bytes.data(), size_of(spec.dtype));
  return visit_numeric(spec.dtype, [&]<class T>(std::type_identity<T>) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    if constexpr (std::is_class_v<T>)  // a 16-bit float
      return double(float(value));
    else
      return double(value);
  });
}

}  // namespace stoker
