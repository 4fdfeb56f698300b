#include "data/runtime/writers.h"

#include <cstring>

#include <fmt/format.h>

namespace stoker::data {

namespace {

bool fits_spec(const TensorSpec& spec, DType dtype, const Shape& shape) {
  bool fits = spec.dtype == dtype && spec.shape.rank() == shape.rank();
  for (int axis = 0; fits && axis < shape.rank(); ++axis)
    fits = spec.shape[axis] < 0 || spec.shape[axis] == shape[axis];
  return fits;
}

}  // namespace

void check_against(const TensorSpec& spec, size_t component, DType dtype, const Shape& shape) {
  if (!fits_spec(spec, dtype, shape))
    throw ShapeError(
        fmt::format("component {} became {}, but its spec says {}; give the map {{.spec "
                    "= …}} when its function changes dtype or shape",
                    component, to_string(TensorSpec{dtype, shape}), to_string(spec)));
}

bool BatchRows::open(const ElementSpec& batch_spec, int64_t rows, BlockPool& blocks,
                     MemoryBudget& budget, bool regardless) {
  blocks_ = &blocks;
  rows_ = rows;
  count_ = batch_spec.size();
  components_ = std::make_unique<Component[]>(count_);
  int64_t needed = 0;
  for (size_t i = 0; i < count_; ++i) {
    TensorSpec& row = components_[i].spec;
    row = {batch_spec[i].dtype, batch_spec[i].shape.drop_front()};
    if (!row.shape.is_known() || row.dtype == DType::bytes) continue;
    size_t bytes = size_t(rows * row.shape.elements()) * size_of(row.dtype);
    if (!blocks.has_free(bytes)) needed += int64_t(BlockPool::rounded(bytes));
  }
  if (needed > 0 && !regardless && !budget.make_room(needed)) return false;
  for (size_t i = 0; i < count_; ++i) {
    TensorSpec row = components_[i].spec;
    if (row.shape.is_known()) allocate(components_[i], row);
  }
  return true;
}

void BatchRows::allocate(Component& component, const TensorSpec& row_spec) {
  component.spec = row_spec;
  component.tensor = blocks_->take(row_spec.dtype, row_spec.shape.prepend(rows_));
  component.data = static_cast<std::byte*>(component.tensor.raw_mut());
  component.row_bytes = size_t(row_spec.shape.elements()) * size_of(row_spec.dtype);
  component.ready.store(true, std::memory_order_release);
}

void* BatchRows::row(size_t component, int64_t row, DType dtype, const Shape& shape) {
  if (component >= count_)
    throw ShapeError(
        fmt::format("component {} was written, but elements have {}", component, count_));
  Component& target = components_[component];
  if (!target.ready.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex_);
    if (!target.ready.load(std::memory_order_relaxed)) {
      check_against(target.spec, component, dtype, shape);
      allocate(target, {dtype, shape});
    }
  }
  if (dtype != target.spec.dtype || !(shape == target.spec.shape))
    mismatch(component, dtype, shape);
  return target.data + size_t(row) * target.row_bytes;
}

void BatchRows::copy_row(size_t component, int64_t row_index, const ConstTensorView& value) {
  void* place = row(component, row_index, value.dtype, value.shape);
  if (value.dtype == DType::bytes)
    copy_values(value, {value.dtype, value.shape, place});
  else
    std::memcpy(place, value.data, components_[component].row_bytes);
}

void BatchRows::mismatch(size_t component, DType dtype, const Shape& shape) const {
  throw ShapeError(fmt::format(
      "component {} is {}, but the batch has rows of {}; elements of a batch need one "
      "shape (image::resize, image::crop or padded_batch give them one)",
      component, to_string(TensorSpec{dtype, shape}), to_string(components_[component].spec)));
}

// Rows that stay move up.
Tensor BatchRows::without(Component& component, const std::set<int64_t>& dropped) {
  const auto& [dtype, shape] = component.spec;
  int64_t kept = 0;
  for (int64_t row = 0; row < rows_; ++row) {
    if (dropped.contains(row)) continue;
    if (kept != row)
      copy_values({dtype, shape, component.data + size_t(row) * component.row_bytes},
                  {dtype, shape, component.data + size_t(kept) * component.row_bytes});
    ++kept;
  }
  return component.tensor.slice(0, kept);
}

Batch BatchRows::take(const std::set<int64_t>& dropped) {
  std::vector<Tensor> tensors;
  tensors.reserve(count_);
  for (size_t i = 0; i < count_; ++i)
    tensors.push_back(dropped.empty() ? std::move(components_[i].tensor)
                                      : without(components_[i], dropped));
  return tensors;
}

void* TensorWriter::put(size_t index, DType dtype, const Shape& shape) {
  if (index >= spec_.size())
    throw ShapeError(
        fmt::format("component {} was written, but elements have {}", index, spec_.size()));
  check_against(spec_[index], index, dtype, shape);
  if (tensors_.size() < spec_.size()) tensors_.resize(spec_.size());
  tensors_[index] = blocks_.take(dtype, shape);
  return tensors_[index].raw_mut();
}

Batch TensorWriter::take() {
  for (size_t i = 0; i < spec_.size(); ++i)
    if (i >= tensors_.size() || !tensors_[i].defined())
      throw Error(fmt::format("component {} was not written", i));
  return std::move(tensors_);
}

void check_element(const ElementSpec& spec, const Batch& element) {
  if (element.size() != spec.size())
    throw ShapeError(fmt::format("the function gave {} components, but {} were declared: {}",
                                 element.size(), spec.size(), to_string(spec)));
  for (size_t i = 0; i < spec.size(); ++i) {
    if (!element[i].defined()) throw ShapeError(fmt::format("component {} is undefined", i));
    if (!fits_spec(spec[i], element[i].dtype(), element[i].shape()))
      throw ShapeError(fmt::format("the function gave {} as component {}, but {} was declared",
                                   to_string(element[i].spec()), i, to_string(spec[i])));
  }
}

}  // namespace stoker::data
