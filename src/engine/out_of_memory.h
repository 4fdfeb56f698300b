// What an engine says when a program does not fit, in one form for all of them.
#pragma once

#include <string>
#include <string_view>

#include "engine/backend.h"

namespace stoker {

// "this program needs weights 1.0 MiB, …, in all 9.5 MiB"
std::string describe_needs(const MemoryReport& memory);

// "at batch size 64; 40 would fit", by how the plan grows with the batch; empty where the graph has
// no batch. `available`: bytes that this program may hold.
std::string batch_advice(const MemoryReport& memory, const Graph& graph, size_t available);

// For engines of the host, before they take the memory: OutOfMemoryError when the plan is above
// `limit` (0: none), or when the machine or its control group has fewer bytes left than `taken`, the
// part of the plan that is not held yet.
void check_host_memory(const MemoryReport& memory, const Graph& graph, size_t limit, size_t taken,
                       std::string_view engine);

}  // namespace stoker
