#include "distribute/sums.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <stoker/dtype.h>

namespace stoker::distribute {

namespace {

constexpr size_t kBlock = 1024;  // elements that stay in the first cache

float rounded_to_bfloat16(float value) { return float(BFloat16(value)); }

// Blocks of the sum in an accumulator, so that `out` may be any of the contributions.
template <class Element, class Round>
void sum_blocks(std::span<const void* const> contributions, size_t elements, void* out,
                const Round& round) {
  std::array<Element, kBlock> sum;
  for (size_t begin = 0; begin < elements; begin += kBlock) {
    size_t count = std::min(kBlock, elements - begin);
    const Element* first = static_cast<const Element*>(contributions[0]) + begin;
    for (size_t i = 0; i < count; ++i) sum[i] = round(first[i]);
    for (const void* contribution : contributions.subspan(1)) {
      const Element* next = static_cast<const Element*>(contribution) + begin;
      for (size_t i = 0; i < count; ++i) sum[i] += round(next[i]);
    }
    Element* result = static_cast<Element*>(out) + begin;
    for (size_t i = 0; i < count; ++i) result[i] = round(sum[i]);
  }
}

}  // namespace

void sum_in_order(std::span<const void* const> contributions, size_t elements, Wire wire,
                  void* out) {
  if (wire == Wire::int64)
    sum_blocks<uint64_t>(contributions, elements, out, [](uint64_t value) { return value; });
  else if (wire == Wire::bfloat16)
    sum_blocks<float>(contributions, elements, out, rounded_to_bfloat16);
  else
    sum_blocks<float>(contributions, elements, out, [](float value) { return value; });
}

void to_wire(const void* memory, size_t elements, Wire wire, void* out) {
  if (wire != Wire::bfloat16) {
    std::memcpy(out, memory, elements * wire_size(wire));
    return;
  }
  const auto* floats = static_cast<const float*>(memory);
  auto* shorts = static_cast<BFloat16*>(out);
  for (size_t i = 0; i < elements; ++i) shorts[i] = BFloat16(floats[i]);
}

void from_wire(const void* data, size_t elements, Wire wire, void* memory) {
  if (wire != Wire::bfloat16) {
    std::memcpy(memory, data, elements * wire_size(wire));
    return;
  }
  const auto* shorts = static_cast<const BFloat16*>(data);
  auto* floats = static_cast<float*>(memory);
  for (size_t i = 0; i < elements; ++i) floats[i] = float(shorts[i]);
}

}  // namespace stoker::distribute
