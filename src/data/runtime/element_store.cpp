#include "data/runtime/element_store.h"

#include "data/runtime/worker.h"
#include "data/runtime/writers.h"

namespace stoker::data {

namespace {

int64_t bytes_of(const Batch& element) {
  int64_t total = int64_t(sizeof(StoredElement) + element.size() * sizeof(Tensor));
  for (const Tensor& tensor : element) {
    total += int64_t(tensor.bytes());
    if (tensor.dtype() != DType::bytes) continue;
    for (const std::string& text : tensor.values<std::string>()) total += int64_t(text.capacity());
  }
  return total;
}

class StoredMaker final : public Maker {
 public:
  StoredMaker(MakerRef input, std::shared_ptr<ElementStore> store, size_t scratch)
      : input_(std::move(input)), store_(std::move(store)), scratch_(scratch) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    if (const StoredElement* entry = store_->find(ticket.index)) return give(*entry, ticket, out);
    ScratchElement& element = worker.scratch(scratch_);
    Made made = input_->make({.epoch = 0, .index = ticket.index}, element, worker);
    if (!made.kept) return made;
    if (const StoredElement* entry = keep(ticket.index, made, element, *worker.budget()))
      return give(*entry, ticket, out);
    for (size_t i = 0; i < element.views().size(); ++i) out.copy(i, element.views()[i]);
    return {ticket.epoch, made.index};
  }
  std::string origin(const Ticket& ticket) const override {
    return input_->origin({.epoch = 0, .index = ticket.index});
  }

 private:
  static Made give(const StoredElement& entry, const Ticket& ticket, ElementWriter& out) {
    for (size_t i = 0; i < entry.element.size(); ++i) out.copy(i, entry.element[i]);
    return {ticket.epoch, entry.index};
  }

  // Null when the budget has no room for it.
  const StoredElement* keep(int64_t index, const Made& made, const ScratchElement& element,
                            MemoryBudget& budget) const {
    std::vector<Tensor> tensors;
    for (const ConstTensorView& view : element.views()) {
      Tensor tensor(view.dtype, view.shape);
      copy_values(view, {view.dtype, view.shape, tensor.raw_mut()});
      tensors.push_back(std::move(tensor));
    }
    auto entry = std::make_unique<StoredElement>();
    entry->element = std::move(tensors);
    entry->index = made.index;
    entry->bytes = bytes_of(entry->element);
    int64_t bytes = entry->bytes;
    if (!budget.try_charge_cache(bytes)) return nullptr;
    bool kept = false;
    const StoredElement* found = store_->keep(index, std::move(entry), kept);
    if (!kept) budget.release(bytes);
    return found;
  }

  MakerRef input_;
  std::shared_ptr<ElementStore> store_;
  size_t scratch_;
};

}  // namespace

Planned stored(Planned planned, std::shared_ptr<ElementStore> store, PlanContext& context) {
  planned.maker = std::make_shared<StoredMaker>(std::move(planned.maker), std::move(store),
                                                context.new_scratch());
  return planned;
}

Planned kept_in_memory(Planned planned, PlanContext& context) {
  auto store = std::static_pointer_cast<ElementStore>(context.kept);
  if (store == nullptr || !context.budget->try_charge_cache(store->bytes()))
    store = std::make_shared<ElementStore>(*planned.length);
  context.kept = store;
  return stored(std::move(planned), std::move(store), context);
}

}  // namespace stoker::data
