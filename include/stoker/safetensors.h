// Tensors by name in a safetensors file, the format that Python's safetensors package reads and
// writes (https://huggingface.co/docs/safetensors). Every dtype but bytes.
//
//   save_safetensors("a.safetensors", {{"embedding", table}, {"ids", ids}});
//   Tensor table = load_safetensors("a.safetensors").at("embedding");
//
// A model's own files are written by Model::save and Model::save_weights, in this format too.
#pragma once

#include <map>
#include <string>

#include <stoker/tensor.h>

namespace stoker {

using TensorMap = std::map<std::string, Tensor>;
using TextMap = std::map<std::string, std::string>;

// Atomic: the old file or all of the new one. The same tensors and metadata give the same bytes.
// ValueError for a name that is not UTF-8 or is "__metadata__", and for a tensor of bytes.
void save_safetensors(const std::string& path, const TensorMap& tensors,
                      const TextMap& metadata = {});

// Files are not trusted: whatever one holds, this ends in tensors or in one FileError. float64 is
// converted to float32.
TensorMap load_safetensors(const std::string& path);
TextMap load_safetensors_metadata(const std::string& path);  // reads the header alone

}  // namespace stoker
