// What comes out of a chain, naively and really, in a form that can be compared and shown.
#pragma once

#include <string>
#include <vector>

#include <stoker/context.h>

#include "support/chain.h"

namespace stoker::test {

struct Record {
  enum class Kind { element, epoch_end, error } kind = Kind::element;
  Element element = {};
  std::string error = {};
  friend bool operator==(const Record&, const Record&) = default;
};
using Records = std::vector<Record>;

// Up to and with the first error.
Records naive_walk(const Step& chain, uint64_t seed, int64_t epochs);
Records rest_of(data::Iterator& walk);
Records real_walk(const data::Dataset& dataset, int threads, int64_t epochs,
                  const std::string& state = {});

// Empty when they are the same; else where they part, for people.
std::string difference(const Records& expected, const Records& got);

}  // namespace stoker::test
