#include "train/fit/feed.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "formats/tensor_checksum.h"

namespace stoker {

Feed::Feed(std::vector<Tensor> columns, int64_t batch_size, const FeedOptions& options)
    : options_(options),
      arrays_(std::make_unique<ArrayBatches>(std::move(columns), batch_size, options.threads_ahead,
                                             options.memory,
                                             options.slice.value_or(BatchSlice()))) {}

Feed::Feed(const Batches& batches, const FeedOptions& options)
    : options_(options), batches_(batches) {
  constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();  // as Cardinality::kInfinite
  if (!options_.steps && batches_.size() == kEndless)
    throw ValueError(fmt::format(
        "{}: the batches have no end (repeat()), so an epoch has none; say how many make one: "
        "steps_per_epoch for fit, validation_steps for its validation, steps for evaluate and "
        "predict",
        options_.action));
}

std::optional<int64_t> Feed::steps() const {
  if (options_.steps) return options_.steps;
  return arrays_ ? std::optional(arrays_->steps()) : batches_.size();
}

std::vector<std::string> Feed::described() const {
  if (!arrays_) return batches_.described();
  std::vector<std::string> lines;
  for (const Tensor& column : arrays_->columns()) lines.push_back(checksum_line(column));
  return lines;
}

void Feed::begin_epoch(int64_t epoch) {
  if (peeked_ != nullptr) return;
  epoch_ = epoch;
  step_ = 0;
  ended_ = false;
  if (options_.restart || !options_.steps) walking_ = false;
}

void Feed::begin_walk() {
  // With whole walks the epoch's number shuffles, so that a training that starts later sees the
  // same order.
  int64_t number = walk_number();
  if (arrays_ && options_.shuffle)
    arrays_->begin_shuffled(options_.seed, uint64_t(number),
                            options_.restart && number + 1 < options_.epochs);
  else if (arrays_)
    arrays_->begin_in_order();
  else if (walks_ > 0 && !batches_.repeatable())
    throw ValueError(fmt::format(
        "{}: the batches can be walked only once and ended in epoch {}, step {}; pass a range "
        "that can be walked again, or fewer epochs or steps",
        options_.action, epoch_ + 1, step_ + 1));
  else if (walk_ == nullptr || !walk_->continues_with(number))
    walk_ = batches_.begin_walk(walk_options());
  walking_ = true;
  walk_batches_ = 0;
  ++walks_;
}

WalkOptions Feed::walk_options() const {
  return {.epoch = walk_number(),
          .more_follow = options_.more_follow,
          .context = options_.context,
          .memory = options_.memory,
          .slice = options_.slice,
          .any_rank = options_.any_rank};
}

// Views of the rows of this rank, where the source gives those of all.
const Batch* Feed::own_rows(const Batch* batch) {
  if (batch == nullptr || !options_.slice) return batch;
  whole_rows_ = walk_->whole_rows();
  if (walk_->sliced()) return batch;
  std::vector<Tensor> own;
  for (size_t i = 0; i < batch->size(); ++i) {
    const Tensor& whole = (*batch)[i];
    int64_t rows = (*batch)[0].shape().rank() > 0 ? (*batch)[0].shape()[0] : -1;
    if (whole.shape().rank() == 0 || whole.shape()[0] != rows)
      throw ShapeError(
          fmt::format("{}: tensor {} of a batch is {}, tensor 0 has {} rows; expected the same "
                      "number of rows in "
                      "all of them, to be shared among {} ranks",
                      options_.action, i, to_string(whole.shape()), rows, options_.slice->size));
    own.push_back(whole.slice(options_.slice->begin(rows), options_.slice->end(rows)));
  }
  whole_rows_ = (*batch)[0].shape()[0];
  own_ = std::move(own);
  return &own_;
}

const Batch* Feed::peek() {
  if (peeked_ == nullptr) peeked_ = next();
  return peeked_;
}

const Batch* Feed::next() {
  if (peeked_ != nullptr) return std::exchange(peeked_, nullptr);
  ended_ = ended_ || (options_.steps && step_ == *options_.steps);
  if (ended_) return nullptr;
  if (!walking_) begin_walk();
  if (arrays_) whole_rows_ = arrays_->next_rows();
  const Batch* batch = arrays_ ? arrays_->next() : own_rows(walk_->next());
  if (batch == nullptr) {
    if (walk_batches_ == 0)
      throw ValueError(fmt::format("{}: the data is empty: there is no batch", options_.action));
    walking_ = false;
    ended_ = !options_.steps;
    return next();
  }
  ++walk_batches_;
  ++step_;
  return batch;
}

FeedState Feed::state() const {
  return {.epoch = epoch_,
          .step = step_,
          .walks = walks_,
          .walk_batches = walk_batches_,
          .walking = walking_,
          .ended = ended_,
          .stream = walk_ ? walk_->state() : std::string()};
}

void Feed::restore(const FeedState& state) {
  // A generator cannot begin again: what was looked at ahead has been used.
  bool keeps_walk = !arrays_ && !batches_.repeatable() && walk_ != nullptr;
  int64_t passed = keeps_walk ? walk_batches_ : 0;
  peeked_ = nullptr;
  epoch_ = state.epoch;
  step_ = state.step;
  walks_ = state.walks;
  if (!arrays_ && !state.stream.empty()) {
    WalkOptions options = walk_options();
    options.epoch = 0;
    options.state = state.stream;
    walk_ = batches_.begin_walk(options);
  } else if (state.walking) {
    if (!keeps_walk) {
      walk_ = nullptr;
      --walks_;  // begin_walk counts
      begin_walk();
    }
    pass_over(state.walk_batches - passed);
  }
  walking_ = state.walking;
  ended_ = state.ended;
  walk_batches_ = state.walk_batches;
}

void Feed::pass_over(int64_t batches) {
  bool there = true;
  if (arrays_)
    there = arrays_->skip(batches);
  else
    for (int64_t passed = 0; passed < batches && there; ++passed) there = walk_->next() != nullptr;
  if (!there)
    throw ValueError(
        fmt::format("{}: the data has fewer batches than were used when the checkpoint was taken",
                    options_.action));
}

}  // namespace stoker
