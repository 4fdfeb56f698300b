#include "train/fit/array_batches.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/host_memory.h"
#include "base/philox.h"
#include "base/random_below.h"

namespace stoker {

namespace {

constexpr size_t kMostAhead = 8, kMostAheadBytes = size_t(64) << 20;
constexpr size_t kBytesOfAThread = size_t(512) << 10;  // of a batch: it copies them in 50 µs
constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// What Rng(seed, stream).next64() gives, many at a time: twice as fast.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}
  uint64_t operator()() {
    if (at_ == kMany) refill();
    return draws_[at_++];
  }

 private:
  static constexpr size_t kMany = 256;
  void refill() {
    for (size_t i = 0; i < kMany; i += 2, ++block_) {
      PhiloxBlock words = random_block(seed_, stream_, block_);
      draws_[i] = uint64_t(words[0]) << 32 | words[1];
      draws_[i + 1] = uint64_t(words[2]) << 32 | words[3];
    }
    at_ = 0;
  }

  uint64_t seed_, stream_, block_ = 0;
  size_t at_ = kMany;
  std::array<uint64_t, kMany> draws_;
};

}  // namespace

std::vector<int64_t> permutation(int64_t count, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(size_t(count), 0);
  std::iota(order.begin(), order.end(), int64_t(0));
  Draws draws(seed, epoch);
  for (size_t rows = order.size(); rows > 1; --rows)
    std::swap(order[rows - 1], order[random_below(draws, rows)]);
  return order;
}

ArrayBatches::ArrayBatches(std::vector<Tensor> columns, int64_t batch_size, int most_threads,
                           HostMemory* memory, const BatchSlice& slice)
    : columns_(std::move(columns)),
      batch_size_(batch_size),
      rows_(columns_[0].shape()[0]),
      memory_(memory),
      slice_(slice),
      current_(std::vector<Tensor>(columns_.size())) {
  if (most_threads == 0 || steps() < 2) return;
  size_t bytes = 1;  // of a batch
  for (const Tensor& column : columns_) bytes += column.bytes() / size_t(steps());
  most_ahead_ = std::clamp<size_t>(kMostAheadBytes / bytes, 1, kMostAhead);
  auto threads = std::clamp<size_t>(bytes / kBytesOfAThread, 1, size_t(most_threads));
  pool_ =
      std::make_unique<ThreadPool>(ThreadPool::Options{.threads = int(threads), .name = "rows"});
}

void ArrayBatches::begin(Order order) {
  position_ = planned_ = 0;
  ahead_.clear();
  order_ = std::make_shared<const Order>(std::move(order));
}

void ArrayBatches::begin_in_order() { begin({}); }

ArrayBatches::Order ArrayBatches::take_order(uint64_t seed, uint64_t epoch) {
  bool is_next = next_order_ && next_order_->seed == seed && next_order_->epoch == epoch;
  return is_next && next_order_->made ? next_order_->made->get() : permutation(rows_, seed, epoch);
}

void ArrayBatches::begin_shuffled(uint64_t seed, uint64_t epoch, bool next_follows) {
  begin(take_order(seed, epoch));
  next_order_.reset();
  if (pool_ && next_follows) next_order_ = {seed, epoch + 1};
  if (pool_) return;
  if (full_.rows.empty() && rows_ >= batch_size_) full_ = make_buffers(own_rows_of(batch_size_));
  int64_t rest = rows_ % batch_size_;
  if (rest_.rows.empty() && rest != 0) rest_ = make_buffers(own_rows_of(rest));
}

ArrayBatches::OwnRows ArrayBatches::own_rows(int64_t position) const {
  int64_t count = std::min(batch_size_, rows_ - position);
  return {position + slice_.begin(count), own_rows_of(count)};
}

const Batch* ArrayBatches::next() {
  int64_t count = next_rows();
  if (count <= 0) return nullptr;
  if (pool_) {
    if (ahead_.empty()) work_ahead();
    current_ = ahead_.front().get();
    ahead_.pop_front();
    work_ahead();
  } else if (order_->empty()) {
    OwnRows own = own_rows(position_);
    for (size_t i = 0; i < columns_.size(); ++i)
      current_[i] = columns_[i].slice(own.begin, own.begin + own.count);
  } else {
    Buffers& buffers = count == batch_size_ ? full_ : rest_;
    copy_rows(*order_, own_rows(position_), buffers);
    position_ += count;
    return &buffers.batch;
  }
  position_ += count;
  return &current_;
}

// When half of them are taken: waking a thread costs the one that launches microseconds.
void ArrayBatches::work_ahead() {
  if (ahead_.size() > most_ahead_ / 2) return;
  for (; ahead_.size() < most_ahead_ && planned_ < rows_; planned_ += batch_size_)
    ahead_.push_back(pool_->submit([this, order = order_, begin = planned_] {
      OwnRows own = own_rows(begin);
      Buffers buffers = make_device_buffers(own.count);
      copy_rows(*order, own, buffers);
      return std::move(buffers.batch);
    }));
  if (planned_ >= rows_ && next_order_ && !next_order_->made)
    next_order_->made =
        pool_->submit([rows = rows_, seed = next_order_->seed, epoch = next_order_->epoch] {
          return permutation(rows, seed, epoch);
        });
}

bool ArrayBatches::skip(int64_t batches) {
  int64_t left = (rows_ - position_ + batch_size_ - 1) / batch_size_;
  position_ = batches > left ? rows_ : std::min(rows_, position_ + batches * batch_size_);
  planned_ = position_;
  ahead_.clear();
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

// One block for all columns.
ArrayBatches::Buffers ArrayBatches::make_device_buffers(int64_t rows) const {
  std::vector<Tensor> tensors;
  size_t bytes = 0;
  for (const Tensor& column : columns_)
    bytes += aligned(column.bytes() / size_t(rows_) * size_t(rows));
  bytes = std::max(bytes, kAlignment);  // a rank may have no row
  std::shared_ptr<void> block = take_shared(memory_ ? *memory_ : ordinary_memory(), bytes);
  Buffers buffers;
  auto* at = static_cast<std::byte*>(block.get());
  for (const Tensor& column : columns_) {
    buffers.rows.push_back(at);
    tensors.push_back(Tensor::wrap(block, at, column.dtype(), column.shape().with(0, rows)));
    at += aligned(tensors.back().bytes());
  }
  buffers.batch = Batch(std::move(tensors));
  return buffers;
}

void ArrayBatches::copy_rows(const Order& order, const OwnRows& own, const Buffers& buffers) const {
  const auto& [begin, count] = own;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t row_bytes = columns_[i].bytes() / size_t(rows_);
    const auto* from = static_cast<const std::byte*>(columns_[i].raw());
    if (order.empty()) {
      std::memcpy(buffers.rows[i], from + size_t(begin) * row_bytes, size_t(count) * row_bytes);
      continue;
    }
    for (int64_t row = 0; row < count; ++row)
      std::memcpy(buffers.rows[i] + size_t(row) * row_bytes,
                  from + size_t(order[size_t(begin + row)]) * row_bytes, row_bytes);
  }
}

}  // namespace stoker
