// Columns in memory, cut into batches of rows. In order, batches are views; shuffled, rows are
// copied into buffers that are made once: a batch is valid until the next. The last batch holds
// what remains.
//
// For a device that works beside the host, threads put the batches together ahead, in memory that
// the device copies from (base/host_memory.h): the thread that launches steps neither gathers rows
// nor copies them a second time. Their memory goes back with the last tensor that uses it. The
// batches are the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <stoker/batch.h>

#include "base/thread_pool.h"

namespace stoker {

class ArrayBatches : public BatchStream {
 public:
  // Columns with equal numbers of rows (dimension 0). So many threads work ahead at most, fewer
  // where batches are small: starting one takes as long as a small batch; 0: none do. They put the
  // batches into `memory`, which must outlive all tensors; null: ordinary memory.
  // `slice`: of every batch, the rows of one of several ranks.
  ArrayBatches(std::vector<Tensor> columns, int64_t batch_size, int most_threads = 0,
               HostMemory* memory = nullptr, const BatchSlice& slice = {});

  int64_t rows() const { return rows_; }
  int64_t steps() const { return (rows_ + batch_size_ - 1) / batch_size_; }
  int64_t batch_size() const { return batch_size_; }
  const std::vector<Tensor>& columns() const { return columns_; }

  void begin_in_order();
  // The permutation is a function of seed and epoch. `next_follows`: that of the next epoch will be
  // asked for, so it may be made ahead.
  void begin_shuffled(uint64_t seed, uint64_t epoch, bool next_follows = false);
  const Batch* next() override;
  // Rows of the batch that next() will return, on all ranks together.
  int64_t next_rows() const { return std::min(batch_size_, rows_ - position_); }
  bool skip(int64_t batches);  // false, and at the end, when there are fewer

 private:
  using Order = std::vector<int64_t>;  // of rows; empty: as they stand
  struct Buffers {
    Batch batch;
    std::vector<std::byte*> rows;  // where a column's rows go
  };
  Buffers make_buffers(int64_t rows) const;
  Buffers make_device_buffers(int64_t rows) const;
  // Of the batch that begins at row `position`.
  struct OwnRows {
    int64_t begin, count;
  };
  OwnRows own_rows(int64_t position) const;
  int64_t own_rows_of(int64_t rows) const { return slice_.end(rows) - slice_.begin(rows); }
  void copy_rows(const Order& order, const OwnRows& own, const Buffers& buffers) const;
  Order take_order(uint64_t seed, uint64_t epoch);
  void begin(Order order);
  void work_ahead();

  std::vector<Tensor> columns_;
  int64_t batch_size_, rows_;
  HostMemory* memory_;  // null: ordinary
  BatchSlice slice_;
  int64_t position_ = 0;  // the first row of the next batch
  std::shared_ptr<const Order> order_;
  Buffers full_, rest_;  // made when the first shuffled epoch begins
  Batch current_;        // a view, or one that was made ahead

  size_t most_ahead_ = 0;
  int64_t planned_ = 0;  // the first row of the next batch to be made ahead
  std::deque<Future<Batch>> ahead_;
  struct NextOrder {
    uint64_t seed = 0, epoch = 0;
    std::optional<Future<Order>> made = {};  // nothing: not begun
  };
  std::optional<NextOrder> next_order_;
  std::unique_ptr<ThreadPool> pool_;  // last: its tasks use the rest
};

// 0 … count - 1 in an order that (seed, epoch) decides.
std::vector<int64_t> permutation(int64_t count, uint64_t seed, uint64_t epoch);

}  // namespace stoker
