// NumPy's .npy (versions 1 to 3): a header that gives dtype, order and shape, then the values.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Files are not trusted: header and shape are checked against the bytes that are there before memory
// is taken; whatever a file holds, reading ends in a tensor or in one FileError. Pickled objects are
// never read.
#pragma once

#include <functional>
#include <span>
#include <string>

#include <stoker/tensor.h>

#include "base/file.h"

namespace stoker {

// Where the bytes of an array come from.
struct NpySource {
  std::string name;         // for messages: the path, and the array in it
  uint64_t most_bytes = 0;  // that there can be
  std::function<size_t(std::span<std::byte> out)> read;  // fewer than asked for only at the end
};

// bool, int8 … int64, uint8, float16, float32 as they are; uint16 as int32, uint32 and uint64 as int64,
// float64 as float32, strings as bytes. Any byte order, C and Fortran order.
Tensor read_npy(const NpySource& source);
Tensor read_npy(FileReader& file);  // from its beginning

// What stands in front of the values: version 1, in this machine's byte order. ValueError for
// bfloat16, which NumPy does not have.
std::string npy_header(const Tensor& tensor);
// The values as they follow it. bytes: of one length, filled with zeros.
std::string npy_texts(const Tensor& tensor);

}  // namespace stoker
