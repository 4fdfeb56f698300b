#include "engine/out_of_memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/memory_info.h"

namespace stoker {

namespace {

constexpr size_t kWorthAsking = size_t(64) << 20;  // reading /proc takes tenths of a millisecond

// "3.5 MiB"; KiB where that would be next to nothing.
std::string amount(size_t bytes) {
  constexpr size_t kSmall = 100 << 10;
  return bytes < kSmall ? fmt::format("{:.1f} KiB", double(bytes) / 1024)
                        : fmt::format("{:.1f} MiB", double(bytes) / double(1 << 20));
}

int64_t batch_size_of(const Graph& graph) {
  for (const GraphInput& input : graph.inputs())
    if (const Shape& shape = graph.spec(input.value).shape; shape.rank() > 0) return shape[0];
  return 0;
}

// Weights, gradients and moments are what they are; the rest grows with the batch.
bool grows_with_batch(MemoryCategory category) {
  return category == MemoryCategory::activations || category == MemoryCategory::workspace ||
         category == MemoryCategory::inputs;
}

}  // namespace

std::string describe_needs(const MemoryReport& memory) {
  std::string text = "this program needs ";
  for (int c = 0; c < kMemoryCategories; ++c)
    if (size_t bytes = memory.bytes[size_t(c)]; bytes > 0)
      text += fmt::format("{} {}, ", name(MemoryCategory(c)), amount(bytes));
  return text + fmt::format("in all {}", amount(memory.total));
}

std::string batch_advice(const MemoryReport& memory, const Graph& graph, size_t available) {
  size_t fixed = 0, growing = 0;
  for (int c = 0; c < kMemoryCategories; ++c)
    (grows_with_batch(MemoryCategory(c)) ? growing : fixed) += memory.bytes[size_t(c)];
  int64_t batch = batch_size_of(graph);
  if (batch == 0 || growing == 0) return "";
  double room = double(available) - double(fixed);
  auto fits = int64_t(double(batch) * std::max(room, 0.0) / double(growing));
  if (fits >= batch) return "";
  return fits > 0 ? fmt::format("at batch size {}; {} would fit", batch, fits)
                  : fmt::format("at batch size {}; not even one sample would fit", batch);
}

void check_host_memory(const MemoryReport& memory, const Graph& graph, size_t limit, size_t taken,
                       std::string_view engine) {
  if (limit > 0 && memory.total > limit)
    throw OutOfMemoryError(
        fmt::format("out of memory on the engine \"{}\": {} does not fit into the {} "
                    "that Context::memory_limit allows; {}",
                    engine, amount(memory.total), amount(limit), describe_needs(memory)),
        batch_advice(memory, graph, limit));
  if (taken < kWorthAsking) return;
  auto free = size_t(available_memory());
  if (free == 0 || taken <= free) return;
  throw OutOfMemoryError(
      fmt::format("out of memory on the engine \"{}\": {} more are needed, and this machine "
                  "or its container has {} left; {}",
                  engine, amount(taken), amount(free), describe_needs(memory)),
      batch_advice(memory, graph, memory.total - taken + free));
}

}  // namespace stoker
