// Columns in memory, cut into batches of rows. In order, batches are views; shuffled, rows are
// copied into buffers that are made once: a batch is valid until the next. The last batch holds
// what remains.
#pragma once

#include <cstdint>
#include <vector>

#include <stoker/batch.h>

namespace stoker {

class ArrayBatches : public BatchStream {
 public:
  // Columns with equal numbers of rows (dimension 0).
  ArrayBatches(std::vector<Tensor> columns, int64_t batch_size);

  int64_t rows() const { return rows_; }
  int64_t steps() const { return (rows_ + batch_size_ - 1) / batch_size_; }
  int64_t batch_size() const { return batch_size_; }
  const std::vector<Tensor>& columns() const { return columns_; }

  void begin_in_order();
  // The permutation is a function of seed and epoch.
  void begin_shuffled(uint64_t seed, uint64_t epoch);
  const Batch* next() override;
  bool skip(int64_t batches);  // false, and at the end, when there are fewer

 private:
  struct Buffers {
    Batch batch;
    std::vector<std::byte*> rows;  // where a column's rows go
  };
  Buffers make_buffers(int64_t rows) const;
  void copy_rows(int64_t begin, int64_t count, Buffers& buffers) const;

  std::vector<Tensor> columns_;
  int64_t batch_size_, rows_;
  int64_t position_ = 0;
  bool shuffled_ = false;
  std::vector<int64_t> order_;
  Buffers full_, rest_;  // made when the first shuffled epoch begins
  Batch view_;
};

// 0 … count - 1 in an order that (seed, epoch) decides.
std::vector<int64_t> permutation(int64_t count, uint64_t seed, uint64_t epoch);

}  // namespace stoker
