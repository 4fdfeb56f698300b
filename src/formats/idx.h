// The IDX format of the MNIST family: two zero bytes, a type, a rank, the extents and the values,
// all big endian; plain or gzip. http://yann.lecun.com/exdb/mnist
#pragma once

#include <string>

#include <stoker/tensor.h>

#include "base/file.h"

namespace stoker {

// uint8, int8, int16, int32 or float32, as the file says; whether it is compressed is seen from its
// first bytes. Files are not trusted: type, extents and length are checked before memory is taken,
// and a file that holds less or more than its header says is a FileError.
Tensor read_idx(const std::string& path, FileSystem& files = local_files());
Tensor read_idx(FileReader& file);  // from its beginning

}  // namespace stoker
