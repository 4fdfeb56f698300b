// What the fuzz targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace stoker::test {

// What must hold for every input.
inline void expect(bool holds) {
  if (!holds) std::abort();
}

// Reads every byte, so that the sanitizers see views that do not belong to anyone.
inline void touch(std::span<const std::byte> bytes) {
  [[maybe_unused]] static volatile unsigned sink = 0;
  unsigned sum = 0;
  for (std::byte byte : bytes) sum += unsigned(byte);
  sink = sum;
}

// The beginning of an input as choices, the rest as the file.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(std::as_bytes(std::span(data, size))) {}

  uint8_t byte() {
    if (rest_.empty()) return 0;
    auto value = uint8_t(rest_.front());
    rest_ = rest_.subspan(1);
    return value;
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace stoker::test
