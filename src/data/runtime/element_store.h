// Elements with random access as they were made in epoch 0, kept in memory while the budget has
// room: what cache() is made of, and a cache that tuning adds. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "data/runtime/planning.h"

namespace stoker::data {

struct StoredElement {
  Batch element;
  int64_t index = 0;  // under which it was made
  int64_t bytes = 0;
};

// Element i, once it was made; entries are written once and live as long as the store.
class ElementStore {
 public:
  explicit ElementStore(int64_t length) : entries_(size_t(length)) {}
  ~ElementStore() {
    for (std::atomic<const StoredElement*>& entry : entries_) delete entry.load();
  }
  ElementStore(const ElementStore&) = delete;
  ElementStore& operator=(const ElementStore&) = delete;

  const StoredElement* find(int64_t index) const {
    return entries_[size_t(index)].load(std::memory_order_acquire);
  }
  // What is there afterwards: another thread may have been faster.
  const StoredElement* keep(int64_t index, std::unique_ptr<const StoredElement> entry, bool& kept) {
    const StoredElement* expected = nullptr;
    kept = entries_[size_t(index)].compare_exchange_strong(expected, entry.get());
    if (!kept) return expected;
    bytes_.fetch_add(entry->bytes);
    return entry.release();
  }
  int64_t bytes() const { return bytes_.load(); }

 private:
  std::vector<std::atomic<const StoredElement*>> entries_;
  std::atomic<int64_t> bytes_ = 0;
};

// The plan with elements that come from the store once they were made. The store's bytes are charged
// already.
Planned stored(Planned planned, std::shared_ptr<ElementStore> store, PlanContext& context);

}  // namespace stoker::data
