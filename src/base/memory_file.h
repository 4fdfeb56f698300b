// Bytes in memory, read like a file.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/file.h"

namespace stoker {

// The bytes must outlive it. `name` stands where a path would in error messages.
class MemoryFile final : public FileReader {
 public:
  MemoryFile(std::string name, std::span<const std::byte> bytes)
      : FileReader(std::move(name)), bytes_(bytes) {}

  uint64_t size() const override { return bytes_.size(); }

  size_t read_at(uint64_t offset, std::span<std::byte> out) override {
    if (offset >= bytes_.size()) return 0;
    size_t count = std::min(out.size(), bytes_.size() - size_t(offset));
    if (count > 0) std::memcpy(out.data(), bytes_.data() + offset, count);
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace stoker
