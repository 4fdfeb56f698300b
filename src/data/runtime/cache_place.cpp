#include "data/runtime/cache_place.h"

#include <algorithm>
#include <array>

namespace stoker::data {

namespace {

constexpr double kWorthKeeping = 10'000;  // nanoseconds per element
constexpr double kShareOfBudget = 0.5;    // that a cache may take

bool is_shuffle(const Node& node) { return node.kind() == "shuffle"; }

// Whether its elements are the same in every epoch if those of its input are. Behind a shuffle,
// only what works on elements one by one keeps them: batches and counts depend on their order.
bool keeps_elements(const Node& node, bool shuffled) {
  static constexpr std::array kUnknown = {"from_generator", "interleave", "flat_map", "repeat"};
  if (node.draws_at_random()) return false;
  if (std::ranges::find(kUnknown, node.kind()) != kUnknown.end()) return false;
  return !shuffled || node.transparent() || node.kind() == "map" || node.kind() == "filter";
}

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
  std::vector<const Node*> chain = chain_of(run.root.get());
  if (std::ranges::any_of(chain, [](const Node* node) { return node->kind() == "cache"; }))
    return {};
  CacheAdvice advice;
  double saved = 0;
  std::string shuffle;
  for (auto at = chain.begin(); at != chain.end(); ++at) {
    const Node& node = **at;
    if (is_shuffle(node)) {
      shuffle = title(node);
      continue;
    }
    if (!keeps_elements(node, !shuffle.empty())) break;
    const StageStats* stage = stats_of(run, &node);
    if (!was_measured(stage)) continue;
    saved += stage->mean_ns();
    Cardinality count = node.cardinality();
    if (!count.known() || count.infinite()) continue;
    double elements = double(*count.count);
    double bytes = double(stage->bytes.value()) / double(stage->sampled.value()) * elements;
    bool fits = bytes < kShareOfBudget * double(run.budget->limit());
    if (!fits && advice.bytes > 0 && advice.fits) continue;  // the earlier place needs no disk
    advice = {.after = title(node),
              .bytes = bytes,
              .saved_ns = saved,
              .elements = elements,
              .fits = fits,
              .shuffle = shuffle,
              .random_behind = std::any_of(at + 1, chain.end(), [](const Node* behind) {
                return behind->draws_at_random();
              })};
  }
  advice.tunable = place_for_cache(run.root.get()) != nullptr;
  return advice.saved_ns > kWorthKeeping ? advice : CacheAdvice{};
}

bool draws_elements(const Node& node) {
  if (!is_shuffle(node) && node.draws_at_random()) return true;
  return std::ranges::any_of(node.inputs(),
                             [](const NodeRef& input) { return draws_elements(*input); });
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
