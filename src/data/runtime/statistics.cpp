#include "data/runtime/statistics.h"

namespace stoker::data {

StageStats& Statistics::stage(const Node& node, std::string name) {
  StageStats& stats = stages_.emplace_back();
  stats.node = &node;
  stats.name = std::move(name);
  return stats;
}

RunnerStats& Statistics::runner(std::string name) {
  RunnerStats& stats = runners_.emplace_back();
  stats.name = std::move(name);
  return stats;
}

}  // namespace stoker::data
