// The header of an .npy file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <stoker/shape.h>

namespace stoker {

struct NpyHeader {
  char kind = 'f';     // b, i, u, f, S or U
  uint64_t bytes = 4;  // of a value in the file
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// From the text of the header, a Python dictionary. FileError, opened by `name`.
NpyHeader parse_npy_header(std::string_view text, const std::string& name);

}  // namespace stoker
