// The memory of a graph as it stands: one buffer a computed value, one instruction a node. What an
// engine needs that neither fuses nor re-lays out; counted as every engine counts.
#pragma once

#include "engine/buffers.h"

namespace stoker {

BufferPlan plan_graph(const Graph& graph);  // at_work is by node

inline MemoryReport plan_graph_memory(const Graph& graph) { return plan_graph(graph).memory; }

}  // namespace stoker
