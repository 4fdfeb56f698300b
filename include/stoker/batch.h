// Batches and where they come from. A Batch holds the tensors of one step: inputs, targets and,
// where they are used, sample weights. Batches is any source of them: a range that can be walked
// again every epoch, or a generator that can be walked once.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/tensor.h>

namespace stoker {

class Batch {
 public:
  Batch() = default;
  Batch(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}
  Batch(std::initializer_list<Tensor> tensors) : tensors_(tensors) {}

  const Tensor& operator[](size_t index) const { return tensors_[index]; }
  Tensor& operator[](size_t index) { return tensors_[index]; }
  size_t size() const { return tensors_.size(); }
  auto begin() const { return tensors_.begin(); }
  auto end() const { return tensors_.end(); }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

class HostMemory;
struct Context;
struct PipelineStatistics;
struct PipelineKnobs;

// The rows of every batch that belong to one of several ranks of a data-parallel training: contiguous,
// in the order of the ranks, and even but for one row. A rank may get no row of a small batch. Slices
// nest: two neighbours of four ranks have together the rows of one of two.
class BatchSlice {
 public:
  int64_t rank = 0, size = 1;
  int64_t ranks_of_host = 1;  // that share the cores and the memory of this machine

  // Of a batch of `rows` rows: ⌊rank · rows / size⌋ and ⌊(rank + 1) · rows / size⌋.
  int64_t begin(int64_t rows) const { return rows / size * rank + rows % size * rank / size; }
  int64_t end(int64_t rows) const {
    return rows / size * (rank + 1) + rows % size * (rank + 1) / size;
  }
};

// One pass over batches; not thread-safe.
class BatchStream {
 public:
  virtual ~BatchStream() = default;
  // The next batch, valid until the next call; null at the end.
  virtual const Batch* next() = 0;
  // Whether next() continues with this epoch after that end, without a new walk.
  virtual bool continues_with(int64_t epoch) { return epoch < 0; }
  // The position after the batch that next() returned last, for WalkOptions::state. Empty: not
  // supported; to resume there, a new walk skips as many batches.
  virtual std::string state() const { return {}; }
  // Whether it applies WalkOptions::slice: its batches hold only the rows of that rank.
  virtual bool sliced() const { return false; }
  // Of a sliced batch, the one that next() returned last: the rows that all ranks have together. -1:
  // known only to all of them together, as where elements are left out because they are bad.
  virtual int64_t whole_rows() const { return -1; }

  // For sources that are pipelines; false: this one is not. What was measured since the walk began.
  virtual bool measure(PipelineStatistics& statistics) const { return (void)statistics, false; }
  // Goes on with other settings from the batch after the last one; the batches stay the same. The
  // last one is no longer valid.
  virtual bool retune(const PipelineKnobs& knobs) { return (void)knobs, false; }
};

// Which walk is wanted. Sources that draw at random draw by the number of the epoch.
struct WalkOptions {
  int64_t epoch = 0;
  bool more_follow = false;          // another epoch follows: its batches may be prefetched
  std::string state = {};            // resume where BatchStream::state() was taken
  const Context* context = nullptr;  // its seed and threads; null: the default one's
  // Where the batches are put together, unless Context::pin is off; null: ordinary memory. fit,
  // evaluate and predict name the pinned memory of their device here.
  HostMemory* memory = nullptr;
  // The part of a rank; nothing: the walk is not one of several. Positions count whole batches, so a
  // state may be resumed with another number of ranks.
  std::optional<BatchSlice> slice = {};
  // Collective: whether any rank passes true. Asked before every batch by sources whose ranks may have
  // different numbers of batches (AutoShardPolicy::file and off); ranks that have none left then get
  // batches without rows. Empty: a walk ends with its own last batch.
  std::function<bool(bool)> any_rank = {};
};

class Batches;

// Something that says itself how it becomes Batches: a Dataset.
template <class S>
concept BatchSource = requires(const std::remove_cvref_t<S>& source) {
  { source.batches() } -> std::same_as<Batches>;
};

template <class R>
inline constexpr bool kIsBatchRange = [] {
  if constexpr (std::is_same_v<std::remove_cvref_t<R>, Batches> || BatchSource<R> ||
                !std::ranges::input_range<R>)
    return false;
  else
    return std::is_convertible_v<std::ranges::range_reference_t<R>, const Batch&>;
}();
template <class R>
concept BatchRange = kIsBatchRange<R>;
template <class F>
concept BatchGenerator = std::is_invocable_r_v<std::optional<Batch>, F&>;

class Batches {
 public:
  Batches() = default;  // none: defined() is false
  // A range of Batch. One that is named is referred to and must live as long; a temporary is kept.
  template <BatchRange R>
  Batches(R&& range);  // NOLINT(bugprone-forwarding-reference-overload): Batches is no BatchRange
  // A function that returns the next batch, or nothing at the end. It is walked once: more than one
  // epoch needs steps_per_epoch.
  template <BatchGenerator F>
  Batches(F generator);
  template <BatchSource S>
  Batches(const S& source) : Batches(source.batches()) {}
  // For sources that are more than a range: every call begins a new walk. `size`: batches in a
  // walk, if known.
  using BeginWalk = std::function<std::unique_ptr<BatchStream>(const WalkOptions&)>;
  // `describe`: what the batches are made of, one line each, so that a training which goes on
  // notices other data; none: not known.
  using Describe = std::function<std::vector<std::string>()>;
  Batches(BeginWalk walk, std::optional<int64_t> size, Describe describe = {})
      : walk_(std::move(walk)), size_(size), describe_(std::move(describe)) {}

  bool defined() const { return walk_ != nullptr; }
  bool repeatable() const { return repeatable_; }
  std::optional<int64_t> size() const { return size_; }
  std::vector<std::string> described() const {
    return describe_ ? describe_() : std::vector<std::string>();
  }
  std::unique_ptr<BatchStream> begin_walk(const WalkOptions& options = {}) const {
    return walk_(options);
  }

 private:
  template <class R>
  class RangeStream;
  template <class F>
  class GeneratorStream;

  BeginWalk walk_;
  std::optional<int64_t> size_;
  Describe describe_;
  bool repeatable_ = true;
};

template <class R>
class Batches::RangeStream : public BatchStream {
 public:
  explicit RangeStream(R& range)
      : iterator_(std::ranges::begin(range)), end_(std::ranges::end(range)) {}
  const Batch* next() override {
    if (started_ && iterator_ != end_) ++iterator_;
    started_ = true;
    if (iterator_ == end_) return nullptr;
    using Element = decltype(*iterator_);
    if constexpr (std::is_lvalue_reference_v<Element> &&
                  std::same_as<std::remove_cvref_t<Element>, Batch>) {
      return &*iterator_;
    } else {
      batch_ = *iterator_;
      return &batch_;
    }
  }

 private:
  std::ranges::iterator_t<R> iterator_;
  std::ranges::sentinel_t<R> end_;
  bool started_ = false;
  Batch batch_;
};

template <class F>
class Batches::GeneratorStream : public BatchStream {
 public:
  explicit GeneratorStream(std::shared_ptr<F> generator) : generator_(std::move(generator)) {}
  const Batch* next() override {
    batch_ = (*generator_)();
    return batch_ ? &*batch_ : nullptr;
  }

 private:
  std::shared_ptr<F> generator_;
  std::optional<Batch> batch_;
};

template <BatchRange R>
Batches::Batches(R&& range) {  // NOLINT(bugprone-forwarding-reference-overload)
  using Range = std::remove_reference_t<R>;
  if constexpr (std::ranges::sized_range<Range>) size_ = int64_t(std::ranges::size(range));
  // A view with input iterators is a generator; a container of the kind begins anew.
  repeatable_ = std::ranges::forward_range<Range> || !std::ranges::view<Range>;
  if constexpr (std::is_lvalue_reference_v<R>) {
    walk_ = [kept = &range](const WalkOptions&) {
      return std::make_unique<RangeStream<Range>>(*kept);
    };
  } else {
    walk_ = [kept = std::make_shared<Range>(std::forward<R>(range))](const WalkOptions&) {
      return std::make_unique<RangeStream<Range>>(*kept);
    };
  }
}

template <BatchGenerator F>
Batches::Batches(F generator) : repeatable_(false) {
  walk_ = [kept = std::make_shared<F>(std::move(generator))](const WalkOptions&) {
    return std::make_unique<GeneratorStream<F>>(kept);
  };
}

}  // namespace stoker
