#include "parity/recording.h"

#include <stoker/error.h>
#include <stoker/random.h>

namespace stoker::test {

namespace {

const Tensor* find(const SafetensorsFile& file, std::string_view name) {
  for (const auto& [key, tensor] : file.tensors)
    if (key == name) return &tensor;
  return nullptr;
}

}  // namespace

Recording::Recording(const std::string& name)
    : path_(STOKER_TEST_SOURCE_DIR "/parity/" + name + ".safetensors"),
      file_(read_safetensors(path_)) {}

bool Recording::has(std::string_view name) const { return find(file_, name) != nullptr; }

const Tensor& Recording::tensor(std::string_view name) const {
  if (const Tensor* found = find(file_, name)) return *found;
  throw ValueError(path_ + ": no tensor \"" + std::string(name) + "\"");
}

Expected Recording::expected(const std::string& name) const {
  return {name, tensor(name), tensor("noise/" + name)};
}

std::vector<std::string> Recording::names(std::string_view prefix) const {
  std::vector<std::string> found;
  for (const auto& [key, tensor] : file_.tensors)
    if (key.starts_with(prefix)) found.push_back(key.substr(prefix.size()));
  return found;
}

Tensor drawn(uint64_t seed, uint64_t stream, const Shape& shape, const Range& range) {
  Tensor tensor(DType::float32, shape);
  float* out = tensor.data_mut<float>();
  for (int64_t i = 0; i < shape.elements(); ++i) {
    float symmetric = float(random_bits(seed, stream, uint64_t(i)) >> 8) * 0x1p-23F - 1.0F;
    out[i] = range.centre + range.limit * symmetric;
  }
  return tensor;
}

Tensor drawn_integers(uint64_t seed, uint64_t stream, const Shape& shape, int64_t below) {
  Tensor tensor(DType::int64, shape);
  int64_t* out = tensor.data_mut<int64_t>();
  for (int64_t i = 0; i < shape.elements(); ++i)
    out[i] = int64_t(random_bits(seed, stream, uint64_t(i)) >> 8) * below >> 24;
  return tensor;
}

}  // namespace stoker::test
