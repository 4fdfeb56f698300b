// The part of a program that reads its outputs.
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "engine/cuda/program.h"

namespace stoker::cuda {

const void* CudaProgram::output_data(size_t index) const {
  if (index >= parts_.output_buffers.size())
    throw ValueError(fmt::format("output {} of a program with {} does not exist", index,
                                 parts_.output_buffers.size()));
  if (runs_ == 0) throw Error("a program has no outputs before its first run");
  return slots_[last_slot_].addresses[size_t(parts_.output_buffers[index])];
}

void CudaProgram::read_back(size_t index, void* to, size_t bytes) const {
  const void* data = output_data(index);
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, data, bytes, cudaMemcpyDeviceToHost, device_.stream()),
        "reading an output");
  wait_for_outputs();
}

Tensor CudaProgram::output(size_t index) const {
  Device::Turn turn(device_);
  output_data(index);
  const TensorSpec& spec = parts_.graph->spec(parts_.graph->outputs()[index].value);
  Tensor tensor(spec.dtype, spec.shape);
  read_back(index, tensor.raw_mut(), tensor.bytes());
  return tensor;
}

namespace {

template <class T>
T as(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

double as_double(const void* data, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return as<float>(data);
    case DType::float16:
      return float(as<Float16>(data));
    case DType::bfloat16:
      return float(as<BFloat16>(data));
    case DType::int8:
      return as<int8_t>(data);
    case DType::int16:
      return as<int16_t>(data);
    case DType::int32:
      return as<int32_t>(data);
    case DType::int64:
      return double(as<int64_t>(data));
    case DType::uint8:
      return as<uint8_t>(data);
    case DType::bool_:
      return as<uint8_t>(data) != 0;
    case DType::bytes:
      break;
  }
  throw ShapeError("a tensor of bytes holds no numbers");
}

}  // namespace

double CudaProgram::scalar(size_t index) const {
  Device::Turn turn(device_);
  output_data(index);
  const GraphOutput& output = parts_.graph->outputs()[index];
  const TensorSpec& spec = parts_.graph->spec(output.value);
  if (spec.shape.elements() != 1)
    throw ShapeError(
        fmt::format("output \"{}\" is {}, not a scalar", output.name, to_string(spec)));
  std::array<std::byte, 8> bytes{};
  read_back(index, bytes.data(), size_of(spec.dtype));
  return as_double(bytes.data(), spec.dtype);
}

}  // namespace stoker::cuda
