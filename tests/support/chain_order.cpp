// Which elements, in which order: shuffle, repeat, take, skip, shard, zip, concatenate, interleave.
#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "data/runtime/making.h"
#include "data/runtime/permutation.h"
#include "support/chain_steps.h"

namespace stoker::test {

using data::Dataset;
using data::mixed;

namespace {

class ShuffleStep final : public InputStep {
 public:
  ShuffleStep(StepRef input, data::ShuffleOptions options)
      : InputStep(std::move(input)), options_(options) {}
  Dataset dataset() const override { return input_->dataset().shuffle(options_); }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items before = input_->items(epoch, keys), after;
    uint64_t key = options_.seed ? mixed(*options_.seed, 0x5F) : key_of(depth(), keys);
    data::Permutation order(int64_t(before.size()),
                            mixed(key, options_.reshuffle_each_epoch ? uint64_t(epoch) : 0));
    for (size_t i = 0; i < before.size(); ++i) after.push_back(before[size_t(order(int64_t(i)))]);
    return after;
  }
  std::string text() const override {
    return after(fmt::format("shuffle({}{})", options_.seed ? "seed" : "",
                             options_.reshuffle_each_epoch ? "" : " once"));
  }

 private:
  data::ShuffleOptions options_;
};

class WindowShuffleStep final : public InputStep {
 public:
  WindowShuffleStep(StepRef input, int64_t size) : InputStep(std::move(input)), size_(size) {}
  Dataset dataset() const override { return input_->dataset().shuffle(size_); }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items before = input_->items(epoch, keys), window, after;
    Rng rng(mixed(key_of(depth(), keys), uint64_t(epoch)));
    size_t next = 0;
    while (next < before.size() || !window.empty()) {
      while (next < before.size() && int64_t(window.size()) < size_)
        window.push_back(before[next++]);
      auto chosen = size_t(rng.integer(0, int64_t(window.size())));
      std::swap(window[chosen], window.back());
      after.push_back(window.back());
      window.pop_back();
    }
    return after;
  }
  std::string text() const override { return after(fmt::format("shuffle({})", size_)); }

 private:
  int64_t size_;
};

class RepeatStep final : public InputStep {
 public:
  RepeatStep(StepRef input, int64_t count, int64_t take)
      : InputStep(std::move(input)), count_(count), take_(take) {}
  // Without end it is always cut, or a naive interpreter would have no end either.
  Dataset dataset() const override {
    Dataset repeated = input_->dataset().repeat(count_);
    return count_ < 0 ? repeated.take(take_) : repeated;
  }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items all;
    int empty = 0;
    for (int64_t done = 0; count_ < 0 ? int64_t(all.size()) < take_ : done < count_; ++done) {
      Items more = input_->items(count_ < 0 ? done : epoch * count_ + done, keys);
      empty = more.empty() ? empty + 1 : 0;
      if (empty > 50) break;
      all.insert(all.end(), more.begin(), more.end());
    }
    if (count_ < 0) all.resize(size_t(std::min(int64_t(all.size()), take_)));
    return all;
  }
  std::string text() const override {
    return after(count_ < 0 ? fmt::format("repeat().take({})", take_)
                            : fmt::format("repeat({})", count_));
  }
  uint64_t depth() const override { return input_->depth() + (count_ < 0 ? 2 : 1); }

 private:
  int64_t count_, take_;
};

class CutStep final : public InputStep {
 public:
  using Kind = Cut;
  CutStep(StepRef input, Kind kind, int64_t count, int64_t index)
      : InputStep(std::move(input)), kind_(kind), count_(count), index_(index) {}
  Dataset dataset() const override {
    Dataset input = input_->dataset();
    if (kind_ == Kind::take) return input.take(count_);
    return kind_ == Kind::skip ? input.skip(count_) : input.shard(count_, index_);
  }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items before = input_->items(epoch, keys), after;
    for (int64_t at = 0; at < int64_t(before.size()); ++at)
      if (kind_ == Kind::take   ? at < count_
          : kind_ == Kind::skip ? at >= count_
                                : at % count_ == index_)
        after.push_back(before[size_t(at)]);
    return after;
  }
  std::string text() const override {
    static constexpr const char* kNames[] = {"take", "skip", "shard"};
    return after(fmt::format("{}({}, {})", kNames[size_t(kind_)], count_, index_));
  }

 private:
  Kind kind_;
  int64_t count_, index_;
};

class PairStep final : public InputStep {
 public:
  using Kind = Pair;
  PairStep(StepRef first, StepRef second, Kind kind)
      : InputStep(std::move(first)), second_(std::move(second)), kind_(kind) {}
  Dataset dataset() const override {
    if (kind_ == Kind::zip) return data::zip({input_->dataset(), second_->dataset()});
    return input_->dataset().concatenate(second_->dataset());
  }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items a = input_->items(epoch, {keys.seed, mixed(keys.branch, 1)});
    Items b = second_->items(epoch, {keys.seed, mixed(keys.branch, 2)});
    if (kind_ == Kind::concatenate) {
      a.insert(a.end(), b.begin(), b.end());
    } else {
      a.resize(std::min(a.size(), b.size()));
      for (size_t i = 0; i < a.size(); ++i) {
        if (a[i].error.empty()) a[i].error = b[i].error;
        a[i].element.insert(a[i].element.end(), b[i].element.begin(), b[i].element.end());
      }
    }
    for (size_t i = 0; i < a.size(); ++i) a[i].epoch = epoch, a[i].index = int64_t(i);
    return a;
  }
  std::string text() const override {
    return after(
        fmt::format("{}({})", kind_ == Kind::zip ? "zip" : "concatenate", second_->text()));
  }

 private:
  StepRef second_;
  Kind kind_;
};

// Every element becomes a small random chain of its own.
class InterleaveStep final : public InputStep {
 public:
  InterleaveStep(StepRef input, int64_t cycle, int64_t block, int64_t parallel)
      : InputStep(std::move(input)), cycle_(cycle), block_(block), parallel_(parallel) {}
  Dataset dataset() const override {
    auto expand = [](const Batch& element) { return inner_of(element_of(element))->dataset(); };
    data::ElementSpec spec{{DType::int64, {}}};
    if (cycle_ == 0) return input_->dataset().flat_map(spec, expand);
    return input_->dataset().interleave(spec, expand,
                                        {.cycle = cycle_, .block = block_, .parallel = parallel_});
  }
  Items items(int64_t epoch, const Keys& keys) const override {
    std::deque<std::deque<Item>> waiting;
    uint64_t key = key_of(depth(), keys);
    for (const Item& outer : input_->items(epoch, keys)) {
      if (!outer.error.empty()) {
        waiting.push_back({outer});
        continue;
      }
      Items inner =
          inner_of(outer.element)->items(outer.epoch, {mixed(key, uint64_t(outer.index)), 0});
      waiting.emplace_back(inner.begin(), inner.end());
    }
    Items all = taken_in_turns(std::move(waiting));
    for (size_t i = 0; i < all.size(); ++i) all[i].epoch = epoch, all[i].index = int64_t(i);
    return all;
  }
  std::string text() const override {
    return after(cycle_ == 0
                     ? "flat_map()"
                     : fmt::format("interleave({}, {}, parallel = {})", cycle_, block_, parallel_));
  }

 private:
  static StepRef inner_of(const Element& element) {
    auto hash = hash_of(element);
    auto begin = int64_t(hash % 1000);
    StepRef inner = range_step(begin, begin + int64_t(hash / 1000 % 5), 1);
    if (hash / 5000 % 2 == 0) inner = shuffle_step(inner, data::ShuffleOptions{});
    if (hash / 10000 % 2 == 0) inner = map_step(inner, noisy(), AUTOTUNE);
    if (hash / 20000 % 3 == 0) inner = filter_step(inner, lucky());
    return inner;
  }

  // The open ones have turns; one that ends gives its place to the next that waits, and the turn to
  // its neighbour.
  Items taken_in_turns(std::deque<std::deque<Item>> waiting) const {
    auto places = size_t(std::max<int64_t>(cycle_, 1));
    std::vector<std::optional<std::deque<Item>>> open(places);
    Items all;
    auto fill = [&](size_t from) {
      for (size_t i = 0; i < places && !waiting.empty(); ++i) {
        auto& place = open[(from + i) % places];
        if (place) continue;
        place = std::move(waiting.front());
        waiting.pop_front();
      }
    };
    for (size_t at = 0;; at = (at + 1) % places) {
      fill(at);
      if (std::none_of(open.begin(), open.end(), [](const auto& o) { return o.has_value(); }))
        return all;
      for (int64_t taken = 0; open[at] && taken < block_; ++taken) {
        if (open[at]->empty()) {
          open[at].reset();
          fill(at);
          break;
        }
        all.push_back(open[at]->front());
        open[at]->pop_front();
      }
    }
  }
  int64_t cycle_, block_, parallel_;
};

}  // namespace

StepRef shuffle_step(StepRef input, data::ShuffleOptions options) {
  return std::make_shared<ShuffleStep>(std::move(input), options);
}
StepRef window_shuffle_step(StepRef input, int64_t size) {
  return std::make_shared<WindowShuffleStep>(std::move(input), size);
}
StepRef repeat_step(StepRef input, int64_t count, int64_t take) {
  return std::make_shared<RepeatStep>(std::move(input), count, take);
}
StepRef cut_step(StepRef input, Cut kind, int64_t count, int64_t index) {
  return std::make_shared<CutStep>(std::move(input), kind, count, index);
}
StepRef pair_step(StepRef first, StepRef second, Pair kind) {
  return std::make_shared<PairStep>(std::move(first), std::move(second), kind);
}
StepRef interleave_step(StepRef input, int64_t cycle, int64_t block, int64_t parallel) {
  return std::make_shared<InterleaveStep>(std::move(input), cycle, block, parallel);
}

}  // namespace stoker::test
