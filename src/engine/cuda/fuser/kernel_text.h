// What the kinds of generated kernels share; a part of codegen.
#pragma once

#include <optional>

#include "engine/cuda/fuser/codegen.h"

namespace stoker::fuser {

// Whether how a load is done matters: small operands stay in a cache.
bool is_large(const Region& region, const Scalar& load);
// How many elements a thread owns, along a counter.
int lanes_for(const Region& region, Counter counter);
// How often a thread does these loads at once: until about `bytes` are in flight.
int unroll_for(const Region& region, const std::vector<int>& scalars, int lanes, int bytes);

std::string heading(const Region& region);
std::string signature(const Region& region, bool partials);
std::string store_lanes(const Region& region, const std::vector<int>& scalars, int lanes);
// With the name that follows from the text.
GeneratedKernel named(std::string source);

// Where an operand is read turned; nothing where none is.
std::optional<GeneratedKernel> generate_tiles(const Region& region);
// Rows: the innermost axis is reduced, by groups of neighbouring threads. Columns: it is not, and
// threads own columns.
GeneratedKernel generate_rows(const Region& region, int multiprocessors);
GeneratedKernel generate_columns(const Region& region, int multiprocessors);

}  // namespace stoker::fuser
