// Batches of one epoch after the other, from arrays or from any source of batches.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "train/fit/array_batches.h"

namespace stoker {

struct FeedOptions {
  const char* action = "fit";
  std::optional<int64_t> steps = {};  // in an epoch
  bool restart = true;  // every epoch from the beginning; else it goes on where the last one ended
  bool more_follow = false;  // epochs follow each other: their batches may be made ahead
  int64_t epochs = 0;        // the number behind the last epoch's, where that is known
  bool shuffle = false;
  uint64_t seed = 0;
  const Context* context = nullptr;  // of the model, for pipelines
  int threads_ahead = 0;             // at most, for arrays: see ArrayBatches
  HostMemory* memory = nullptr;      // that the device copies from; null: ordinary memory
  // As of WalkOptions: the rows of one of several ranks, from any source. Steps, epochs and states
  // count whole batches.
  std::optional<BatchSlice> slice = {};
  std::function<bool(bool)> any_rank = {};
};

// Where a feed stands, behind the batch that next() returned last. Data only.
struct FeedState {
  int64_t epoch = 0, step = 0;          // batches of this epoch that are used
  int64_t walks = 0, walk_batches = 0;  // walks begun, and batches of the last one that are used
  bool walking = false;                 // that one has not ended
  bool ended = false;                   // the epoch has
  std::string stream = {};              // BatchStream::state(), of sources that give one
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

  // What the data is, one line each: arrays, or the steps and files of a dataset. None: not known.
  std::vector<std::string> described() const;

  void begin_epoch(int64_t epoch);
  // The epoch's next batch, valid until the next call; null at its end. ValueError when there is no
  // batch at all, or when a source that can be walked once ends too early.
  const Batch* next();
  // Of a sliced feed: the rows that all ranks have together of the batch that next() returned last; -1:
  // not known to one rank.
  int64_t whole_rows() const { return whole_rows_; }
  // The batch that next() will return first; for looking at its shapes before anything runs.
  const Batch* peek();

  FeedState state() const;
  // Goes on behind the batch that was used last when `state` was taken from a feed of the same
  // data. Arrays and datasets go there at once. A plain range is walked from its beginning and a
  // generator from where it is, over the batches that were used; ValueError when they end too
  // early, or when a dataset is not the one that the state is from.
  void restore(const FeedState& state);
  // Of the run that goes on.
  void set_seed(uint64_t seed) { options_.seed = seed; }

 private:
  void begin_walk();
  WalkOptions walk_options() const;
  const Batch* own_rows(const Batch* batch);
  void pass_over(int64_t batches);
  int64_t walk_number() const { return options_.restart ? epoch_ : walks_; }

  FeedOptions options_;
  std::unique_ptr<ArrayBatches> arrays_;
  Batches batches_;
  std::unique_ptr<BatchStream> walk_;  // of batches_
  bool walking_ = false, ended_ = false;
  const Batch* peeked_ = nullptr;
  int64_t whole_rows_ = -1;
  Batch own_;  // the rows of this rank, of a source that gives all
  int64_t walks_ = 0, epoch_ = 0, step_ = 0, walk_batches_ = 0;
};

}  // namespace stoker
