// What a peer computed: a safetensors file of this folder. README.md says what is in each; every
// result stands beside its noise, the distance between the peer's float32 and float64.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <stoker/tensor.h>

#include "formats/safetensors.h"

namespace stoker::test {

// A recorded result.
struct Expected {
  std::string name;
  Tensor values;  // float32: the peer's float64 result, rounded
  Tensor noise;   // float32: [] for the whole tensor, or one for each row of dimension 0
};

class Recording {
 public:
  explicit Recording(const std::string& name);  // "cnn" reads tests/parity/cnn.safetensors

  bool has(std::string_view name) const;
  const Tensor& tensor(std::string_view name) const;  // ValueError when the file has none
  double number(std::string_view name) const { return tensor(name).item(); }
  uint64_t seed() const { return uint64_t(number("seed")); }
  Expected expected(const std::string& name) const;
  // What follows `prefix`, in the order of the file: names("limit/") → {"conv1/kernel", …}.
  std::vector<std::string> names(std::string_view prefix) const;

 private:
  std::string path_;
  SafetensorsFile file_;
};

// The numbers that common.py draws, bit for bit. float32 in [centre - limit, centre + limit).
struct Range {
  float limit = 1;
  float centre = 0;
};
Tensor drawn(uint64_t seed, uint64_t stream, const Shape& shape, const Range& range = {});
// int64 in [0, below).
Tensor drawn_integers(uint64_t seed, uint64_t stream, const Shape& shape, int64_t below);

}  // namespace stoker::test
