// cache: elements as they were made the first time, kept in memory. Epoch 0 is what is kept: later
// epochs see the same elements, also those that found no room and are made again. Random functions
// behind it still draw anew in every epoch.
#include <fmt/format.h>

#include "data/node.h"
#include "data/runtime/element_store.h"

namespace stoker::data {

namespace {

// A stream is kept whole or not at all.
class CacheTickets final : public Tickets {
 public:
  CacheTickets(std::unique_ptr<Tickets> input, std::shared_ptr<MemoryBudget> budget)
      : input_(std::move(input)), budget_(std::move(budget)) {}

  void begin(int64_t epoch) override {
    epoch_ = epoch;
    at_ = 0;
    if (complete_) return;
    kept_.clear();
    keeping_ = fits_;
    input_->begin(0);
  }

  bool next(Ticket& ticket) override {
    if (complete_) {
      if (at_ == kept_.size()) return false;
      ticket = kept_[at_++];
    } else if (!input_->next(ticket)) {
      complete_ = keeping_;
      at_ = kept_.size();
      return false;
    } else if (keeping_) {
      keep(ticket);
    }
    ticket.epoch = epoch_;
    return true;
  }

 private:
  // Held elements are charged to the budget while they live.
  void keep(const Ticket& ticket) {
    if (budget_->has_room(budget_->limit() / 4)) {
      kept_.push_back(ticket);
    } else {
      fits_ = keeping_ = false;
      kept_.clear();
    }
  }

  std::unique_ptr<Tickets> input_;
  std::shared_ptr<MemoryBudget> budget_;
  std::vector<Ticket> kept_;
  int64_t epoch_ = 0;
  size_t at_ = 0;
  bool complete_ = false, keeping_ = false, fits_ = true;
};

class CacheNode final : public Node {
 public:
  explicit CacheNode(const NodeRef& input)
      : Node("cache", {input}, input->spec(), input->cardinality(), input->random_access()) {}

  std::string recipe() const override { return {}; }
  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input_with_gaps(*this);
    if (!planned.length) {
      planned = context.materialised(std::move(planned), *this);
      planned.stream = std::make_unique<CacheTickets>(std::move(planned.stream), context.budget);
      return planned;
    }
    if (*planned.length == Cardinality::kInfinite)
      throw ValueError("cache(): the dataset has no end; put cache() before repeat()");
    std::shared_ptr<ElementStore> store = store_for(*planned.length, context.key(*this));
    context.budget->charge(store->bytes());
    return stored(std::move(planned), std::move(store), context);
  }

 private:
  // Shared by all iterations with the same seed, so that evaluating after training finds it full.
  std::shared_ptr<ElementStore> store_for(int64_t length, uint64_t key) const {
    std::lock_guard lock(mutex_);
    if (!store_ || key_ != key) store_ = std::make_shared<ElementStore>(length);
    key_ = key;
    return store_;
  }

  mutable std::mutex mutex_;
  mutable std::shared_ptr<ElementStore> store_;
  mutable uint64_t key_ = 0;
};

}  // namespace

Dataset Dataset::cache() const { return Dataset(std::make_shared<CacheNode>(node_)); }

}  // namespace stoker::data
