// Where finished elements go: into the row of a batch, or into tensors of their own.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>

#include <stoker/batch.h>

#include "data/runtime/blocks.h"
#include "data/runtime/making.h"

namespace stoker::data {

// The memory of one batch while its rows are being made, by several threads. Components of known
// shape have their memory from the beginning; the others get it with their first row.
class BatchRows {
 public:
  // False: the budget has no room for it now. `regardless`: takes it all the same.
  bool open(const ElementSpec& batch_spec, int64_t rows, BlockPool& blocks, MemoryBudget& budget,
            bool regardless);
  // Where a row goes. ShapeError when its dtype or shape differ from the other rows'.
  void* row(size_t component, int64_t row, DType dtype, const Shape& shape);
  void copy_row(size_t component, int64_t row, const ConstTensorView& value);
  // When all rows are written; without those of `dropped`, which are not all.
  Batch take(const std::set<int64_t>& dropped);

 private:
  struct Component {
    std::atomic<bool> ready = false;
    TensorSpec spec;  // of a row
    Tensor tensor;    // of the batch
    std::byte* data = nullptr;
    size_t row_bytes = 0;
  };
  void allocate(Component& component, const TensorSpec& row_spec);
  Tensor without(Component& component, const std::set<int64_t>& dropped);
  [[noreturn]] void mismatch(size_t component, DType dtype, const Shape& shape) const;

  BlockPool* blocks_ = nullptr;
  int64_t rows_ = 0;
  std::mutex mutex_;  // of components that get their memory late
  std::unique_ptr<Component[]> components_;
  size_t count_ = 0;
};

class RowWriter final : public ElementWriter {
 public:
  RowWriter(BatchRows& batch, int64_t row) : batch_(batch), row_(row) {}
  void* put(size_t index, DType dtype, const Shape& shape) override {
    return batch_.row(index, row_, dtype, shape);
  }
  void copy(size_t index, const ConstTensorView& value) override {
    batch_.copy_row(index, row_, value);
  }

 private:
  BatchRows& batch_;
  int64_t row_;
};

// An element with memory of its own.
class TensorWriter final : public ElementWriter {
 public:
  TensorWriter(const ElementSpec& spec, BlockPool& blocks) : spec_(spec), blocks_(blocks) {}
  void* put(size_t index, DType dtype, const Shape& shape) override;
  void copy(size_t index, const ConstTensorView& value) override {
    copy_values(value, {value.dtype, value.shape, put(index, value.dtype, value.shape)});
  }
  Batch take();

 private:
  const ElementSpec& spec_;
  BlockPool& blocks_;
  std::vector<Tensor> tensors_;
};

// ShapeError unless the value is of the spec: same dtype and rank, same extents where known.
void check_against(const TensorSpec& spec, size_t component, DType dtype, const Shape& shape);
// The same for a whole element that a function of the user's gave.
void check_element(const ElementSpec& spec, const Batch& element);

}  // namespace stoker::data
