// Elements that are single texts, many at a time: a source that has them in memory one after the other,
// and a function that takes them so, meet without a call and a copy per element.
#pragma once

#include <span>
#include <string_view>

#include <stoker/element.h>

namespace stoker::data {

// In the order in which they lie in one piece of memory.
using Records = std::span<const std::string_view>;

// An ElementFunction of one text that is also this is given runs of them.
class RecordFunction {
 public:
  virtual ~RecordFunction() = default;
  // The elements of the records, one after the other: `out` says where the first one goes, and the
  // others follow it in memory. Returns how many it made; the next one, if any, cannot be made, and
  // apply() says why.
  virtual int64_t apply_records(Records records, ElementWriter& out) const = 0;
};

}  // namespace stoker::data
