// Batches of one epoch after the other, from arrays or from any source of batches.
#pragma once

#include <memory>
#include <optional>

#include "train/array_batches.h"

namespace stoker {

struct FeedOptions {
  const char* action = "fit";
  std::optional<int64_t> steps = {};  // in an epoch
  bool restart = true;  // every epoch from the beginning; else it goes on where the last one ended
  bool more_follow = false;  // epochs follow each other: their batches may be made ahead
  bool shuffle = false;
  uint64_t seed = 0;
};

class Feed {
 public:
  Feed(std::vector<Tensor> columns, int64_t batch_size, const FeedOptions& options);
  Feed(const Batches& batches, const FeedOptions& options);

  // Batches in an epoch, where that is known.
  std::optional<int64_t> steps() const;
  int64_t batch_size() const { return arrays_ ? arrays_->batch_size() : 0; }
  const ArrayBatches* arrays() const { return arrays_.get(); }
  // The walk in progress; null: none, or arrays.
  BatchStream* stream() const { return walk_.get(); }

  void begin_epoch(int64_t epoch);
  // The epoch's next batch, valid until the next call; null at its end. ValueError when there is no
  // batch at all, or when a source that can be walked once ends too early.
  const Batch* next();
  // The batch that next() will return first; for looking at its shapes before anything runs.
  const Batch* peek();

 private:
  void begin_walk();

  FeedOptions options_;
  std::unique_ptr<ArrayBatches> arrays_;
  Batches batches_;
  std::unique_ptr<BatchStream> walk_;  // of batches_
  bool walking_ = false;
  const Batch* peeked_ = nullptr;
  int64_t walks_ = 0, epoch_ = 0, step_ = 0, walk_batches_ = 0;
};

}  // namespace stoker
