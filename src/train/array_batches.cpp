#include "train/array_batches.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <stoker/random.h>

namespace stoker {

std::vector<int64_t> permutation(int64_t count, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(size_t(count), 0);
  std::iota(order.begin(), order.end(), int64_t(0));
  Rng rng(seed, epoch);
  for (int64_t last = count - 1; last > 0; --last)
    std::swap(order[size_t(last)], order[size_t(rng.integer(0, last + 1))]);
  return order;
}

ArrayBatches::ArrayBatches(std::vector<Tensor> columns, int64_t batch_size)
    : columns_(std::move(columns)),
      batch_size_(batch_size),
      rows_(columns_[0].shape()[0]),
      view_(std::vector<Tensor>(columns_.size())) {}

void ArrayBatches::begin_in_order() {
  shuffled_ = false;
  position_ = 0;
}

void ArrayBatches::begin_shuffled(uint64_t seed, uint64_t epoch) {
  shuffled_ = true;
  position_ = 0;
  order_ = permutation(rows_, seed, epoch);
  if (full_.rows.empty() && rows_ >= batch_size_) full_ = make_buffers(batch_size_);
  if (rest_.rows.empty() && rows_ % batch_size_ != 0) rest_ = make_buffers(rows_ % batch_size_);
}

const Batch* ArrayBatches::next() {
  int64_t count = std::min(batch_size_, rows_ - position_);
  if (count <= 0) return nullptr;
  int64_t begin = position_;
  position_ += count;
  if (shuffled_) {
    Buffers& buffers = count == batch_size_ ? full_ : rest_;
    copy_rows(begin, count, buffers);
    return &buffers.batch;
  }
  for (size_t i = 0; i < columns_.size(); ++i) view_[i] = columns_[i].slice(begin, begin + count);
  return &view_;
}

bool ArrayBatches::skip(int64_t batches) {
  int64_t left = (rows_ - position_ + batch_size_ - 1) / batch_size_;
  position_ = batches > left ? rows_ : std::min(rows_, position_ + batches * batch_size_);
  return batches <= left;
}

ArrayBatches::Buffers ArrayBatches::make_buffers(int64_t rows) const {
  std::vector<Tensor> tensors;
  Buffers buffers;
  for (const Tensor& column : columns_) {
    Tensor tensor(column.dtype(), column.shape().with(0, rows));
    buffers.rows.push_back(static_cast<std::byte*>(tensor.raw_mut()));
    tensors.push_back(std::move(tensor));
  }
  buffers.batch = Batch(std::move(tensors));
  return buffers;
}

void ArrayBatches::copy_rows(int64_t begin, int64_t count, Buffers& buffers) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t row_bytes = columns_[i].bytes() / size_t(rows_);
    const auto* from = static_cast<const std::byte*>(columns_[i].raw());
    for (int64_t row = 0; row < count; ++row)
      std::memcpy(buffers.rows[i] + size_t(row) * row_bytes,
                  from + size_t(order_[size_t(begin + row)]) * row_bytes, row_bytes);
  }
}

}  // namespace stoker
