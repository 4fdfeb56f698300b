// The safetensors format: eight bytes with the length of a JSON header (little endian), the header,
// which gives name, dtype, shape and place of every tensor, and the tensors' bytes without gaps.
// https://huggingface.co/docs/safetensors
//
// Files that Stoker writes for itself carry checksums (safetensors_checksums.h), which are verified
// whenever they are there. Files are not trusted: whatever they hold, reading ends in a
// SafetensorsFile or in one FileError. Beside the header, which is at most 100 MB, no more memory
// is taken than the file is long.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <stoker/tensor.h>

#include "base/file.h"

namespace stoker {

struct SafetensorsFile {
  std::vector<std::pair<std::string, Tensor>> tensors = {};  // in the order of their bytes
  std::map<std::string, std::string> metadata = {};          // without the checksums
  // Writing: add checksums. Reading: the file has them, and they are right.
  bool checksums = false;
};

SafetensorsFile read_safetensors(const std::string& path, FileSystem& files = local_files());
// The same from memory; `name` stands where the path would in error messages.
SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

// The bytes of a file in pieces, for those who write it themselves: all before the tensors goes to
// `head`, the rest stays where it is. The same tensors and metadata give the same bytes.
// ValueError for a name that is taken, reserved or not UTF-8, for tensors the format cannot hold
// (bytes), and for a header that is too long to be read again.
std::vector<std::span<const std::byte>> safetensors_pieces(const SafetensorsFile& file,
                                                           std::string& head);
// Atomic: the old file or all of the new one. ValueError as above.
void write_safetensors(const std::string& path, const SafetensorsFile& file,
                       FileSystem& files = local_files());

}  // namespace stoker
