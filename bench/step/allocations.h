// Counts what is allocated with operator new while it is switched on, apart from oneDNN's and
// OpenMP's own allocations.
#pragma once

#include <cstdint>

namespace stoker::bench {

class AllocationCount {
 public:
  AllocationCount();   // starts from zero
  ~AllocationCount();  // stops
  int64_t ours() const;
  int64_t libraries() const;  // oneDNN, OpenMP
};

}  // namespace stoker::bench
