// Copies of variables, one per replica of a process but the first, which uses the variables
// themselves. All replicas update theirs alike; what the host writes to a variable reaches the
// copies before the next run.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace stoker::distribute {

class Mirrors {
 public:
  explicit Mirrors(int replicas) : replicas_(replicas) {}

  // The graph of a replica uses that replica's copies from now on. Returns the variables it uses that
  // have copies: those that `is_single` picks have none, since one replica alone uses them.
  std::vector<Variable> bind(Graph& graph, int replica,
                             const std::function<bool(const Variable&)>& is_single);
  // Brings the copies of these variables up to date where the host wrote to them, or a program that
  // has no replicas.
  void refresh(const std::vector<Variable>& variables);
  // All replicas have changed theirs alike.
  void ran(const std::vector<Variable>& variables);

 private:
  // Where the contents are, and how often they have changed there.
  struct State {
    const Residence* at = nullptr;
    uint64_t changes = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  static State state_of(const Variable& variable);
  struct Copies {
    Variable of;
    std::vector<Variable> list;  // of replicas 1, 2, …
    State alike = {};            // of `of` when they were last alike
  };
  Copies& copies_of(const Variable& variable);

  int replicas_;
  std::unordered_map<const void*, Copies> copies_;  // by Variable::id()
};

}  // namespace stoker::distribute
