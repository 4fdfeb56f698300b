// The description of a dataset: an immutable tree of nodes, one kind per file in sources/ and ops/.
#pragma once

#include <typeinfo>

#include <stoker/dataset.h>

namespace stoker::data {

struct Planned;
class PlanContext;
class SourceFiles;  // data/identity.h

// How a chain runs, as one of its nodes states it; never what comes out.
struct ChainSettings {
  std::optional<int64_t> prefetch = {};
  std::optional<Budget> budget = {};
  std::optional<DatasetOptions> options = {};
};

class Node {
 public:
  Node(std::string kind, std::vector<NodeRef> inputs, ElementSpec spec, Cardinality cardinality,
       bool random_access)
      : kind_(std::move(kind)),
        inputs_(std::move(inputs)),
        spec_(std::move(spec)),
        cardinality_(cardinality),
        random_access_(random_access) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& kind() const { return kind_; }  // "map"
  const std::vector<NodeRef>& inputs() const { return inputs_; }
  const NodeRef& input() const { return inputs_.front(); }
  const ElementSpec& spec() const { return spec_; }
  Cardinality cardinality() const { return cardinality_; }
  bool random_access() const { return random_access_; }

  // The options as people would write them: `"decode", parallel = 4`; empty: none.
  virtual std::string details() const { return {}; }
  // Does not count in the keys of random numbers: prefetch, options, budget, error policies.
  virtual bool transparent() const { return false; }
  // What it states for the whole chain; null: it is no node of settings.
  virtual const ChainSettings* settings() const { return nullptr; }
  // Whether its function is given random numbers, or its order drawn, by the dataset's seed.
  virtual bool draws_at_random() const { return false; }
  // Of the options, those that change what comes out: a state fits only where they are the same.
  virtual std::string identity() const { return details(); }
  // All that is known of what it computes, in one line; for caches and resumed trainings.
  virtual std::string recipe() const { return identity(); }
  // The type of a C++ function in it that the recipe does not describe; null: none.
  virtual const std::type_info* unknown_code() const { return nullptr; }
  // The files that it reads.
  virtual void add_sources(SourceFiles& files) const { (void)files; }
  // How it runs. Called once per iteration.
  virtual Planned plan(PlanContext& context) const = 0;

 private:
  std::string kind_;
  std::vector<NodeRef> inputs_;
  ElementSpec spec_;
  Cardinality cardinality_;
  bool random_access_;
};

// `map("decode", parallel = 4)`: the node as it stands in messages.
std::string title(const Node& node);
// Identifies what a chain computes: kinds, identities and specs of all nodes; not their settings.
uint64_t fingerprint(const Node& node);

// nullopt stays unknown, infinite stays infinite.
template <class F>
Cardinality counted(Cardinality of, F function) {
  if (!of.known() || of.infinite()) return of;
  return {function(*of.count)};
}

}  // namespace stoker::data
