// The JSON header of a safetensors file: what it says, checked, and how it is written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <stoker/tensor.h>

namespace stoker {

struct SafetensorsEntry {
  std::string name;
  TensorSpec spec;
  uint64_t begin = 0, end = 0;  // counted from the end of the header
  bool float64 = false;         // its bytes are doubles, which `spec` calls float32
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes, which they cover once
  std::map<std::string, std::string> metadata;
};

// Trusts nothing in the text. ValueError when it is not such a header, or not one of a file with
// that many bytes behind it.
SafetensorsHeader parse_safetensors_header(const std::string& text, uint64_t data_bytes);

// Padded with spaces to a multiple of eight bytes. `checksums`: one per tensor; null: none are
// written. ValueError for names that are taken, reserved or not UTF-8, undefined tensors, and
// dtypes that the format does not have.
std::string make_safetensors_header(const std::vector<std::pair<std::string, Tensor>>& tensors,
                                    const std::map<std::string, std::string>& metadata,
                                    const std::vector<uint32_t>* checksums = nullptr);

}  // namespace stoker
