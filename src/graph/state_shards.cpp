#include "graph/state_shards.h"

#include <algorithm>

namespace stoker {

std::vector<int64_t> StateShards::owners(const std::vector<Variable>& parameters) {
  std::vector<Variable> fresh;
  for (const Variable& parameter : parameters)
    if (!owned_.contains(parameter.id())) fresh.push_back(parameter);
  std::ranges::stable_sort(fresh, std::ranges::greater(),
                           [](const Variable& parameter) { return parameter.shape().elements(); });
  for (const Variable& parameter : fresh) {
    auto least = std::ranges::min_element(loads_);
    *least += std::max<int64_t>(parameter.shape().elements(), 1);
    owned_[parameter.id()] = {parameter, least - loads_.begin()};
  }
  std::vector<int64_t> ranks;
  for (const Variable& parameter : parameters) ranks.push_back(owned_.at(parameter.id()).rank);
  return ranks;
}

void StateShards::keep(const Variable& state, int64_t rank) {
  if (keepers_.try_emplace(state.id(), rank).second) kept_.push_back({state, rank});
}

int64_t StateShards::keeper_of(const Variable& state) const {
  auto known = keepers_.find(state.id());
  return known != keepers_.end() ? known->second : -1;
}

}  // namespace stoker
