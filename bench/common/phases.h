// Where the time of a start goes.
#pragma once

#include <iosfwd>
#include <memory>

#include "base/tracing.h"

namespace stoker::bench {

// While it lives, everything that the rooms trace is noted. print(): seconds and calls by name, the
// longest first; a name may contain others.
class Phases {
 public:
  Phases();
  ~Phases();
  Phases(const Phases&) = delete;
  Phases& operator=(const Phases&) = delete;
  void print(std::ostream& out) const;

 private:
  std::shared_ptr<Trace> trace_;
};

}  // namespace stoker::bench
