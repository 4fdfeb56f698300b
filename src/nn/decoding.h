// Incremental decoding: tracing a model for the next steps of sequences whose earlier steps it has
// seen, without computing those again. Whoever generates traces the model's graph after
// begin_decoding(); attention layers then keep keys and values in caches, and layers of positions
// count from `position`.
//
//   Graph graph;
//   begin_decoding(graph, {.length = 256, .position = graph.input("position", {DType::int64, {}}),
//                          .cache = [&](const std::string& name, const TensorSpec& spec) { … }});
//   Value logits = model.run(graph, {ids});   // ids: [B, T], T steps from `position` on
//
// Such a graph may have any T: the prompt at once (position 0), then one step at a time, from
// programs that share the caches. Cache entries from `position` + T on are never seen, so that a
// new sequence needs no clearing.
#pragma once

#include <functional>
#include <string>

#include <stoker/layer.h>

namespace stoker {

struct Decoding {
  int64_t length = 0;  // steps that a cache holds
  Value position;      // int64 []: the place of the call's first step; position + T ≤ length
  // The variable of a cache, by a name that is the same in every graph of a model ("gpt/block_0/
  // attention/key_cache"). spec: [B, length, …]. Called once per cache and graph.
  std::function<Variable(const std::string& name, const TensorSpec& spec)> cache;
};

void begin_decoding(Graph& graph, Decoding decoding);
// Null: the graph sees whole sequences.
const Decoding* decoding_of(Graph& graph);

// The cache's contents with `steps` [B, T, …] in the places from `position` on; they are what it
// holds after the run. [B, length, …].
Value extend_cache(CallContext& context, const Decoding& decoding, const std::string& name,
                   const Value& steps);
// bool [1, 1, T, length]: the places that each of T steps sees, itself and those before it.
Value seen_in_cache(const Decoding& decoding, int64_t steps);
// int64 [T]: 0, 1, … , or from `position` on while decoding.
Value positions_of(CallContext& context, int64_t steps);

}  // namespace stoker
