// Optimiser state that replicas share instead of each keeping all of it (ZeRO-1): every parameter
// has an owner, the one replica that keeps its moments and updates it. Whole parameters, so that
// rules which look at all of one (LAMB, Muon) need no others. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <stoker/variable.h>

namespace stoker {

class StateShards {
 public:
  explicit StateShards(int64_t ranks) : loads_(size_t(ranks), 0) {}

  // The rank that owns each parameter. New ones go, the largest first, to the rank with the fewest
  // elements; known ones keep their owner. The same on all replicas that ask for the same lists.
  std::vector<int64_t> owners(const std::vector<Variable>& parameters);

  // Only this rank has the variable.
  void keep(const Variable& state, int64_t rank);
  // -1: every replica has it.
  int64_t keeper_of(const Variable& state) const;

  struct Kept {
    Variable state;
    int64_t rank;
  };
  const std::vector<Kept>& kept() const { return kept_; }  // in the order of keep()

 private:
  struct Owned {
    Variable parameter;  // holds its id
    int64_t rank;
  };
  std::map<const void*, Owned> owned_;      // by Variable::id()
  std::map<const void*, int64_t> keepers_;  // likewise
  std::vector<Kept> kept_;
  std::vector<int64_t> loads_;  // by rank: elements of its parameters
};

}  // namespace stoker
