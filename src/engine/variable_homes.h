// Where the programs of a backend keep variables.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <stoker/variable.h>

#include "graph/graph.h"

namespace stoker {

// A residence that counts how often its contents have changed, by the host or by a program: who holds
// copies compares.
class CountedResidence : public Residence {
 public:
  uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }
  void changed() { changes_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> changes_ = 0;
};

// After a run, for the variables that it assigned. `homes` are by variable.
template <class Homes>
void count_changes(const Graph& graph, const Homes& homes) {
  for (const Assignment& assignment : graph.assignments())
    homes[size_t(assignment.variable)]->changed();
}

// Which variables have, or had, a Home here. A variable that another backend took meanwhile comes
// back to the same one, so that programs for other batch sizes keep sharing it. Thread-safe.
template <class Home>
class VariableHomes {
 public:
  // The variable's home; where it has none yet, one is made from `arguments`.
  template <class... Arguments>
  std::shared_ptr<Home> make(const Variable& variable, const Arguments&... arguments) {
    std::lock_guard lock(mutex_);
    std::erase_if(homes_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Home>& entry = homes_[variable.id()];
    std::shared_ptr<Home> home = entry.lock();
    if (home == nullptr) entry = home = std::make_shared<Home>(arguments...);
    return home;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, std::weak_ptr<Home>> homes_;
};

// Brings the contents to `home` if they are elsewhere. Cheap when they are not.
template <class Home>
void take(Variable& variable, const std::shared_ptr<Home>& home) {
  if (variable.residence().get() == home.get()) return;
  home->write(variable.read());
  variable.move_to(home);
}

}  // namespace stoker
