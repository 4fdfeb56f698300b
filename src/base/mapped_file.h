// The bytes of a file, mapped into memory: pages are read when they are touched, shared between
// processes, and given back to the system when memory is short. FileReader::map makes one.
//
// The file must not be changed while it is mapped: to touch a page that was cut off, or that a
// broken disk cannot deliver, ends the process (SIGBUS), after a line on standard error that names
// the file (base/watched_range.h). Who has to survive that reads with read_at.
#pragma once

#include <cstddef>
#include <span>

namespace stoker {

class MappedFile {
 public:
  virtual ~MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // At the beginning of a page; as long as the file was when it was opened. Read-only.
  std::span<const std::byte> bytes() const { return bytes_; }

 protected:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace stoker
