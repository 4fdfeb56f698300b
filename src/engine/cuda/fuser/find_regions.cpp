#include "engine/cuda/fuser/find_regions.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "engine/cuda/fuser/lower.h"

namespace stoker::fuser {

namespace {

constexpr size_t kMostOperands = 12, kMostNodes = 32;
// Operations per element that may be done again for each use, all uses together.
constexpr double kCheap = 40;

bool is_alias(const Node& node) { return node.traits().shares_bytes; }

class Finder {
 public:
  Finder(const Readers& readers, const RegionOptions& options)
      : graph_(readers.graph()),
        readers_(readers),
        options_(options),
        fusible_(graph_.nodes().size(), false),
        inside_(graph_.nodes().size()),
        consumers_(graph_.values().size()) {
    for (int i = 0; i < count(); ++i)
      for (int value : node(i).inputs) consumers_[size_t(value)].push_back(i);
    for (int i = 0; i < count(); ++i) fusible_[size_t(i)] = is_candidate(i);
  }

  std::vector<FoundRegion> find() {
    for (int i = count(); i-- > 0;) {
      if (!fusible_[size_t(i)]) continue;
      if (joins(i))
        join(i);
      else if (!is_alias(node(i)))
        begin(i);
    }
    std::vector<FoundRegion> found;
    for (auto& [root, draft] : drafts_) found.push_back(finished(root, draft));
    return found;
  }

 private:
  // A region while it grows.
  struct Draft {
    std::vector<int> nodes;
    std::map<int, double> reads;  // value → how many elements of it are asked for
    bool reduces = false;
    bool flat = true;  // all nodes so far compute element by element what the root has
  };

  int count() const { return int(graph_.nodes().size()); }
  const Node& node(int index) const { return graph_.nodes()[size_t(index)]; }
  double elements(int value) const { return double(graph_.spec(value).shape.elements()); }
  double size(int value) const { return double(size_of(graph_.spec(value).dtype)); }
  double bytes(int value) const { return elements(value) * size(value); }

  // --- which nodes take part ---

  bool is_variable(int value) const {
    return graph_.values()[size_t(value)].kind == ValueKind::variable;
  }

  bool is_large(const Node& n) const {
    double most = bytes(n.outputs[0]);
    for (int value : n.inputs) most = std::max(most, bytes(value));
    return most >= options_.least_bytes;
  }

  // Small work on what a large reduction makes, and nothing else reads; and on the result of that.
  bool follows_reduction(const Node& n) const {
    return n.traits().elementwise && std::ranges::any_of(n.inputs, [&](int value) {
             const Node* producer = graph_.producer(value);
             return producer != nullptr && fusible_[size_t(readers_.index_of(producer))] &&
                    (producer->is("reduce") || !is_large(*producer)) && readers_.uses(value) == 1 &&
                    elements(value) == elements(n.outputs[0]);
           });
  }

  bool is_candidate(int index) const {
    const Node& n = node(index);
    if (options_.is_taken(index) || !is_fusible(graph_, n)) return false;
    // The engine casts all weights in one launch.
    if (n.is("cast") && is_variable(n.inputs[0])) return false;
    return is_large(n) || follows_reduction(n);
  }

  // --- growing, from consumers to producers ---

  // The regions that read a value, if nothing else does; else none.
  std::vector<int> regions_reading(int value) const {
    const std::vector<int>& all = consumers_[size_t(value)];
    if (int(all.size()) != readers_.uses(value)) return {};
    std::vector<int> roots;
    for (int consumer : all) {
      const std::vector<int>& in = inside_[size_t(consumer)];
      if (in.empty()) return {};
      roots.insert(roots.end(), in.begin(), in.end());
    }
    std::ranges::sort(roots);
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    return roots;
  }

  // The values that a node and what it alone uses read.
  void add_operands(const Node& n, std::set<int>& found) const {
    for (int value : n.inputs) {
      const Node* producer = graph_.producer(value);
      bool alone = producer != nullptr && readers_.uses(value) == 1 && !producer->is("reduce") &&
                   fusible_[size_t(readers_.index_of(producer))] && found.size() < kMostOperands;
      if (alone)
        add_operands(*producer, found);
      else
        found.insert(value);
    }
  }

  // How many elements of operand `value` are asked for by so many of the node's result.
  double asked(const Node& n, int value, double results) const {
    if (n.is("reduce")) return elements(value);
    if (n.is("concat")) return results * elements(value) / elements(n.outputs[0]);
    return results;
  }
  double touched(int value, double asked_for) const {
    return std::min(elements(value), asked_for) * size(value);
  }

  bool has_room(const Draft& draft, const Node& n) const {
    size_t operands = draft.reads.size();
    for (int value : n.inputs) operands += draft.reads.contains(value) ? 0 : 1;
    return draft.nodes.size() < kMostNodes && operands <= kMostOperands;
  }

  bool joins(int index) const {
    const Node& n = node(index);
    int value = n.outputs[0];
    std::vector<int> roots = regions_reading(value);
    if (roots.empty()) return false;
    // What one pass that makes the value would read; it counts when several regions make it.
    std::set<int> below;
    add_operands(n, below);
    double again = 0, separate = bytes(value), joined = 0;
    for (int input : below) separate += bytes(input);
    for (int root : roots) {
      const Draft& draft = drafts_.at(root);
      if (!has_room(draft, n)) return false;
      if (n.is("reduce") && !takes_reduction(root, draft, roots.size(), value)) return false;
      double results = draft.reads.at(value);
      again += results / elements(value);
      separate += touched(value, results);
      for (int input : below)
        if (!draft.reads.contains(input)) joined += touched(input, asked(n, input, results));
    }
    if (n.is("reduce")) return true;
    double work = n.traits().moves ? 0 : graph_.cost(n).flops / std::max(elements(value), 1.0);
    return joined <= separate && (again <= 1.001 || work * again <= kCheap);
  }

  // A reduction joins what goes on with its result element by element.
  bool takes_reduction(int root, const Draft& draft, size_t regions, int value) const {
    return regions == 1 && !draft.reduces && draft.flat &&
           elements(value) == elements(node(root).outputs[0]);
  }

  void add(int root, int index, double results) {
    const Node& n = node(index);
    Draft& draft = drafts_[root];
    draft.nodes.push_back(index);
    draft.reduces |= n.is("reduce");
    if (!draft.reduces)
      draft.flat &= (n.traits().elementwise || is_alias(n)) &&
                    elements(n.outputs[0]) == elements(node(root).outputs[0]);
    inside_[size_t(index)].push_back(root);
    for (int value : n.inputs) {
      double& reads = draft.reads[value];
      reads = std::max(reads, asked(n, value, results));
    }
  }

  void begin(int index) { add(index, index, elements(node(index).outputs[0])); }

  void join(int index) {
    int value = node(index).outputs[0];
    for (int root : regions_reading(value)) {
      double results = drafts_.at(root).reads.at(value);
      drafts_.at(root).reads.erase(value);
      add(root, index, results);
    }
  }

  FoundRegion finished(int root, Draft& draft) const {
    std::ranges::sort(draft.nodes);
    auto is_inside = [&](int value) {
      const Node* producer = graph_.producer(value);
      return producer != nullptr &&
             std::ranges::binary_search(draft.nodes, readers_.index_of(producer));
    };
    auto is_rounded = [&](int value) { return readers_.uses(value) > 1; };
    Region region = lower(graph_, node(root), {.is_inside = is_inside, .is_rounded = is_rounded});
    region.bytes = bytes(node(root).outputs[0]);
    for (const auto& [value, asked_for] : draft.reads) region.bytes += touched(value, asked_for);
    return {root, draft.nodes, std::make_shared<const Region>(std::move(region))};
  }

  const Graph& graph_;
  const Readers& readers_;
  const RegionOptions& options_;
  std::vector<bool> fusible_;                // by node
  std::vector<std::vector<int>> inside_;     // by node: roots of the regions it is in
  std::vector<std::vector<int>> consumers_;  // by value: nodes, once per operand
  std::map<int, Draft> drafts_;              // by root
};

}  // namespace

double RegionOptions::default_least_bytes() {
  const char* wanted = std::getenv("STOKER_FUSE_FROM");  // NOLINT(concurrency-mt-unsafe)
  return wanted != nullptr ? std::atof(wanted) : 1 << 20;
}

std::vector<FoundRegion> find_regions(const Readers& readers, const RegionOptions& options) {
  return Finder(readers, options).find();
}

}  // namespace stoker::fuser
