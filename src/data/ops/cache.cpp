// cache: elements as they were made the first time, kept in memory. Epoch 0 is what is kept: later
// epochs see the same elements, also those that found no room and are made again. Random functions
// behind it still draw anew in every epoch.
#include <atomic>

#include <fmt/format.h>

#include "data/node.h"
#include "data/runtime/plan.h"
#include "data/runtime/worker.h"
#include "data/runtime/writers.h"

namespace stoker::data {

namespace {

struct Entry {
  Batch element;
  int64_t index = 0;  // under which it was made
  int64_t bytes = 0;
};

int64_t bytes_of(const Batch& element) {
  int64_t total = int64_t(sizeof(Entry) + element.size() * sizeof(Tensor));
  for (const Tensor& tensor : element) {
    total += int64_t(tensor.bytes());
    if (tensor.dtype() != DType::bytes) continue;
    for (const std::string& text : tensor.values<std::string>()) total += int64_t(text.capacity());
  }
  return total;
}

// Element i, once it was made; entries are written once and live as long as the store.
class Store {
 public:
  explicit Store(int64_t length) : entries_(size_t(length)) {}
  ~Store() {
    for (std::atomic<const Entry*>& entry : entries_) delete entry.load();
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const Entry* find(int64_t index) const {
    return entries_[size_t(index)].load(std::memory_order_acquire);
  }
  // What is there afterwards: another thread may have been faster.
  const Entry* keep(int64_t index, std::unique_ptr<const Entry> entry, bool& kept) {
    const Entry* expected = nullptr;
    kept = entries_[size_t(index)].compare_exchange_strong(expected, entry.get());
    if (!kept) return expected;
    bytes_.fetch_add(entry->bytes);
    return entry.release();
  }
  int64_t bytes() const { return bytes_.load(); }

 private:
  std::vector<std::atomic<const Entry*>> entries_;
  std::atomic<int64_t> bytes_ = 0;
};

class CacheMaker final : public Maker {
 public:
  CacheMaker(MakerRef input, std::shared_ptr<Store> store, size_t scratch)
      : input_(std::move(input)), store_(std::move(store)), scratch_(scratch) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    if (const Entry* entry = store_->find(ticket.index)) return give(*entry, ticket, out);
    ScratchElement& element = worker.scratch(scratch_);
    Made made = input_->make({.epoch = 0, .index = ticket.index}, element, worker);
    if (const Entry* entry = keep(ticket.index, made, element, *worker.budget()))
      return give(*entry, ticket, out);
    for (size_t i = 0; i < element.views().size(); ++i) out.copy(i, element.views()[i]);
    return {ticket.epoch, made.index};
  }
  std::string origin(const Ticket& ticket) const override {
    return input_->origin({.epoch = 0, .index = ticket.index});
  }

 private:
  static Made give(const Entry& entry, const Ticket& ticket, ElementWriter& out) {
    for (size_t i = 0; i < entry.element.size(); ++i) out.copy(i, entry.element[i]);
    return {ticket.epoch, entry.index};
  }

  // Null when the budget has no room for it.
  const Entry* keep(int64_t index, const Made& made, const ScratchElement& element,
                    MemoryBudget& budget) const {
    std::vector<Tensor> tensors;
    for (const ConstTensorView& view : element.views()) {
      Tensor tensor(view.dtype, view.shape);
      copy_values(view, {view.dtype, view.shape, tensor.raw_mut()});
      tensors.push_back(std::move(tensor));
    }
    auto entry = std::make_unique<Entry>();
    entry->element = std::move(tensors);
    entry->index = made.index;
    entry->bytes = bytes_of(entry->element);
    int64_t bytes = entry->bytes;
    if (!budget.try_charge_cache(bytes)) return nullptr;
    bool kept = false;
    const Entry* found = store_->keep(index, std::move(entry), kept);
    if (!kept) budget.release(bytes);
    return found;
  }

  MakerRef input_;
  std::shared_ptr<Store> store_;
  size_t scratch_;
};

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
    Planned planned = context.plan_input(*this);
    if (!planned.length) {
      planned = context.materialised(std::move(planned), *this);
      planned.stream = std::make_unique<CacheTickets>(std::move(planned.stream), context.budget);
      return planned;
    }
    if (*planned.length == Cardinality::kInfinite)
      throw ValueError("cache(): the dataset has no end; put cache() before repeat()");
    std::shared_ptr<Store> store = store_for(*planned.length, context.key(*this));
    context.budget->charge(store->bytes());
    planned.maker = std::make_shared<CacheMaker>(std::move(planned.maker), std::move(store),
                                                 context.new_scratch());
    return planned;
  }

 private:
  // Shared by all iterations with the same seed, so that evaluating after training finds it full.
  std::shared_ptr<Store> store_for(int64_t length, uint64_t key) const {
    std::lock_guard lock(mutex_);
    if (!store_ || key_ != key) store_ = std::make_shared<Store>(length);
    key_ = key;
    return store_;
  }

  mutable std::mutex mutex_;
  mutable std::shared_ptr<Store> store_;
  mutable uint64_t key_ = 0;
};

}  // namespace

Planned kept_in_memory(Planned planned, PlanContext& context) {
  auto store = std::static_pointer_cast<Store>(context.kept);
  if (store == nullptr || !context.budget->try_charge_cache(store->bytes()))
    store = std::make_shared<Store>(*planned.length);
  context.kept = store;
  planned.maker =
      std::make_shared<CacheMaker>(std::move(planned.maker), store, context.new_scratch());
  return planned;
}

Dataset Dataset::cache() const { return Dataset(std::make_shared<CacheNode>(node_)); }

}  // namespace stoker::data
