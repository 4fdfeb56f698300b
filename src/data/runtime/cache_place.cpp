#include "data/runtime/cache_place.h"

#include <algorithm>
#include <array>

namespace stoker::data {

namespace {

constexpr double kWorthKeeping = 10'000;  // nanoseconds an element

// From the source to the end; empty where a chain has branches.
std::vector<const Node*> chain_of(const Node* root) {
  std::vector<const Node*> nodes;
  for (const Node* node = root;; node = node->input().get()) {
    nodes.push_back(node);
    if (node->inputs().empty()) break;
    if (node->inputs().size() > 1) return {};
  }
  std::ranges::reverse(nodes);
  return nodes;
}

}  // namespace

const StageStats* stats_of(const Run& run, const Node* node) {
  for (const StageStats& stage : run.statistics.stages())
    if (stage.node == node) return &stage;
  return nullptr;
}

bool was_measured(const StageStats* stage) {
  return stage != nullptr && stage->sampled.value() > 0;
}

CacheAdvice cache_advice(const Run& run) {
  CacheAdvice advice;
  double saved = 0;
  for (const Node* node : chain_of(run.root.get())) {
    if (node->kind() == "cache") return {};
    const StageStats* stage = stats_of(run, node);
    if (!was_measured(stage)) continue;
    if (stage->random) break;
    saved += stage->mean_ns();
    double bytes = double(stage->bytes.value()) / double(stage->sampled.value());
    Cardinality count = node->cardinality();
    if (!count.known() || count.infinite()) continue;
    if (bytes * double(*count.count) < 0.5 * double(run.budget->limit()))
      advice = {title(*node), bytes * double(*count.count), saved, double(*count.count)};
  }
  return advice.saved_ns > kWorthKeeping ? advice : CacheAdvice{};
}

const Node* place_for_cache(const Node* root) {
  static constexpr std::array kSameEveryEpoch = {"map", "take", "skip", "shard"};
  const Node* place = nullptr;
  for (const Node* node : chain_of(root)) {
    if (!node->random_access() || node->cardinality().infinite()) break;
    bool source = node->inputs().empty();
    bool same = std::ranges::find(kSameEveryEpoch, node->kind()) != kSameEveryEpoch.end();
    if (!source && !node->transparent() && !same) break;
    if (node->draws_at_random()) break;
    if (node->kind() == "map") place = node;
  }
  return place;
}

}  // namespace stoker::data
