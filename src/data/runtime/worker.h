// What one thread needs while it makes elements: scratch memory for the results between functions,
// kept from element to element. Not thread-safe; a Runner keeps one per active thread.
#pragma once

#include <deque>
#include <memory>

#include "data/runtime/budget.h"
#include "data/runtime/making.h"

namespace stoker::data {

// An element between two functions. `copy` refers to its argument: what it is made from lives in
// a source or in another scratch element until the whole chain is done with this element.
class ScratchElement final : public ElementWriter {
 public:
  explicit ScratchElement(MemoryBudget* budget) : budget_(budget) {}
  ~ScratchElement() override;
  ScratchElement(const ScratchElement&) = delete;
  ScratchElement& operator=(const ScratchElement&) = delete;

  // `keeps`: copies what it is given, because that does not stay.
  void clear(bool keeps) { views_.clear(), keeps_ = keeps; }
  std::span<const ConstTensorView> views() const { return views_; }

  void* put(size_t index, DType dtype, const Shape& shape) override;
  void copy(size_t index, const ConstTensorView& value) override;

 private:
  struct Buffer {
    Tensor numbers;  // uint8
    void* data = nullptr;
    size_t capacity = 0;
    std::vector<std::string> strings;
  };
  void grow(Buffer& buffer, size_t bytes);
  ConstTensorView& view(size_t index);

  MemoryBudget* budget_;
  bool keeps_ = false;
  std::vector<ConstTensorView> views_;
  std::deque<Buffer> buffers_;
  int64_t charged_ = 0;
};

class Worker {
 public:
  explicit Worker(MemoryBudget* budget) : budget_(budget) {}
  // The element that place `id` of the plan owns; empty.
  ScratchElement& scratch(size_t id);
  // An object that place `id` of the plan keeps on this worker; made at the first call.
  template <class T>
  T& local(size_t id) {
    if (locals_.size() <= id) locals_.resize(id + 1);
    if (!locals_[id]) locals_[id] = std::make_shared<T>();
    return *static_cast<T*>(locals_[id].get());
  }
  MemoryBudget* budget() const { return budget_; }
  // True for one call in `period`: statistics are sampled where a clock reading would cost more.
  bool sample(uint32_t period) { return ++calls_ % period == 0; }

 private:
  MemoryBudget* budget_;
  std::vector<std::unique_ptr<ScratchElement>> scratch_;
  std::vector<std::shared_ptr<void>> locals_;
  uint32_t calls_ = 0;
};

}  // namespace stoker::data
