#include "support/chain.h"

#include <algorithm>
#include <deque>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/runtime/making.h"
#include "data/runtime/permutation.h"
#include "support/chain_functions.h"

namespace stoker::test {

using data::Dataset;
using data::mixed;

std::string to_string(const Element& element) {
  std::string text = "(";
  for (const Value& value : element)
    text += fmt::format(
        "{}{}{}", text.size() > 1 ? ", " : "", value.shape,
        value.is_text ? fmt::format("{}", value.texts) : fmt::format("{}", value.numbers));
  return text + ")";
}

Element element_of(const Batch& batch) {
  Element element;
  for (const Tensor& tensor : batch) {
    Value& value = element.emplace_back();
    value.shape.assign(tensor.shape().begin(), tensor.shape().end());
    value.is_text = tensor.dtype() == DType::bytes;
    if (value.is_text)
      value.texts.assign(tensor.values<std::string>().begin(), tensor.values<std::string>().end());
    else
      value.numbers.assign(tensor.values<int64_t>().begin(), tensor.values<int64_t>().end());
  }
  return element;
}

namespace {

uint64_t key_of(uint64_t depth, const Keys& keys) {
  return mixed(mixed(keys.seed, depth), keys.branch);
}

Rng rng_of(uint64_t key, const Item& item) {
  return Rng(mixed(key, uint64_t(item.epoch)), uint64_t(item.index));
}

// --- sources ---

class RangeStep final : public Step {
 public:
  RangeStep(int64_t begin, int64_t end, int64_t step) : begin_(begin), end_(end), step_(step) {}
  Dataset dataset() const override { return data::range(begin_, end_, step_); }
  Items items(int64_t epoch, const Keys&) const override {
    Items items;
    for (int64_t at = begin_; step_ > 0 ? at < end_ : at > end_; at += step_)
      items.push_back(
          {epoch, int64_t(items.size()), {{.shape = {}, .numbers = {at}, .texts = {}}}});
    return items;
  }
  std::string text() const override {
    return fmt::format("range({}, {}, {})", begin_, end_, step_);
  }
  uint64_t depth() const override { return 0; }

 private:
  int64_t begin_, end_, step_;
};

// Rows of a number, a text and a vector of two.
class SlicesStep final : public Step {
 public:
  explicit SlicesStep(int64_t rows) : rows_(rows) {}
  Dataset dataset() const override {
    std::vector<int64_t> numbers, pairs;
    std::vector<std::string> texts;
    for (int64_t row = 0; row < rows_; ++row) {
      numbers.push_back(7 * row);
      texts.push_back(text_of(row));
      pairs.push_back(row), pairs.push_back(-row);
    }
    return data::from_slices({Tensor::from(numbers, {rows_}), Tensor::from(texts, {rows_}),
                              Tensor::from(pairs, {rows_, 2})});
  }
  Items items(int64_t epoch, const Keys&) const override {
    Items items;
    for (int64_t row = 0; row < rows_; ++row)
      items.push_back({epoch,
                       row,
                       {{.shape = {}, .numbers = {7 * row}, .texts = {}},
                        {.shape = {}, .numbers = {}, .texts = {text_of(row)}, .is_text = true},
                        {.shape = {2}, .numbers = {row, -row}, .texts = {}}}});
    return items;
  }
  std::string text() const override { return fmt::format("slices({})", rows_); }
  uint64_t depth() const override { return 0; }

 private:
  static std::string text_of(int64_t row) {
    return std::string(size_t(row % 40), 'x') + std::to_string(row);
  }
  int64_t rows_;
};

class GeneratorStep final : public Step {
 public:
  explicit GeneratorStep(int64_t count) : count_(count) {}
  Dataset dataset() const override {
    return data::from_generator(
        {{DType::int64, {}}},
        [count = count_]() -> data::Generator {
          return [count, at = int64_t(0)]() mutable -> std::optional<Batch> {
            if (at == count) return {};
            int64_t value = 100 + at++;
            return Batch{Tensor::from<int64_t>({value}, {})};
          };
        },
        "counter");
  }
  Items items(int64_t epoch, const Keys&) const override {
    Items items;
    for (int64_t at = 0; at < count_; ++at)
      items.push_back({epoch, at, {{.shape = {}, .numbers = {100 + at}, .texts = {}}}});
    return items;
  }
  std::string text() const override { return fmt::format("generator({})", count_); }
  uint64_t depth() const override { return 0; }

 private:
  int64_t count_;
};

// --- operations ---

class InputStep : public Step {
 public:
  explicit InputStep(StepRef input) : input_(std::move(input)) {}
  uint64_t depth() const override { return input_->depth() + 1; }

 protected:
  std::string after(const std::string& text) const { return input_->text() + "." + text; }
  StepRef input_;
};

class MapStep final : public InputStep {
 public:
  MapStep(StepRef input, PlainFunction function, int64_t parallel)
      : InputStep(std::move(input)), function_(std::move(function)), parallel_(parallel) {}
  Dataset dataset() const override {
    return input_->dataset().map(as_function(function_), {.parallel = parallel_});
  }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items items = input_->items(epoch, keys);
    for (Item& item : items) {
      if (!item.error.empty()) continue;
      Rng rng = rng_of(key_of(depth(), keys), item);
      try {
        item.element = function_.apply(std::move(item.element), rng);
      } catch (const std::exception& error) {
        item.error = fmt::format("map(\"{}\"): element {} of epoch {}: {}", function_.name,
                                 item.index, item.epoch, error.what());
      }
    }
    return items;
  }
  std::string text() const override {
    return after(fmt::format("map({}, parallel = {})", function_.name, parallel_));
  }

 private:
  PlainFunction function_;
  int64_t parallel_;
};

class FilterStep final : public InputStep {
 public:
  FilterStep(StepRef input, PlainPredicate predicate)
      : InputStep(std::move(input)), predicate_(std::move(predicate)) {}
  Dataset dataset() const override { return input_->dataset().filter(as_predicate(predicate_)); }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items kept;
    for (Item& item : input_->items(epoch, keys)) {
      Rng rng = rng_of(key_of(depth(), keys), item);
      if (!item.error.empty() || predicate_.test(item.element, rng))
        kept.push_back(std::move(item));
    }
    return kept;
  }
  std::string text() const override { return after(fmt::format("filter({})", predicate_.name)); }

 private:
  PlainPredicate predicate_;
};

// Puts `row` into a larger block of padding.
void place(const Value& row, const std::vector<int64_t>& shape, Value& out, int64_t padding) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  size_t base = out.is_text ? out.texts.size() : out.numbers.size();
  if (out.is_text)
    out.texts.resize(base + size_t(count));
  else
    out.numbers.resize(base + size_t(count), padding);
  size_t from = row.is_text ? row.texts.size() : row.numbers.size();
  for (size_t i = 0; i < from; ++i) {
    size_t rest = i, to = 0, stride = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
      to += rest % size_t(row.shape[axis]) * stride;
      rest /= size_t(row.shape[axis]);
      stride *= size_t(shape[axis]);
    }
    if (out.is_text)
      out.texts[base + to] = row.texts[i];
    else
      out.numbers[base + to] = row.numbers[i];
  }
}

class BatchStep final : public InputStep {
 public:
  struct Form {
    int64_t size = 1;
    bool drop = false, padded = false;
    std::vector<int64_t> lengths = {};
  };
  BatchStep(StepRef input, Form form) : InputStep(std::move(input)), form_(std::move(form)) {}

  Dataset dataset() const override {
    if (!form_.padded) return input_->dataset().batch(form_.size, {.drop_remainder = form_.drop});
    return input_->dataset().padded_batch(
        form_.size, {.lengths = form_.lengths, .padding_value = -7, .drop_remainder = form_.drop});
  }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items rows = input_->items(epoch, keys), batches;
    auto size = size_t(form_.size);
    for (size_t begin = 0; begin < rows.size(); begin += size) {
      size_t end = std::min(begin + size, rows.size());
      if (form_.drop && end - begin < size) break;
      batches.push_back(joined({rows.begin() + ptrdiff_t(begin), rows.begin() + ptrdiff_t(end)}));
      batches.back().epoch = epoch;
      batches.back().index = int64_t(batches.size()) - 1;
    }
    return batches;
  }
  std::string text() const override {
    return after(fmt::format("{}({}{}, {})", form_.padded ? "padded_batch" : "batch", form_.size,
                             form_.drop ? ", drop" : "", form_.lengths));
  }

 private:
  Item joined(const Items& rows) const {
    Item batch;
    for (const Item& row : rows)
      if (!row.error.empty()) {
        batch.error = row.error;
        return batch;
      }
    data::ElementSpec spec = input_->dataset().spec();
    for (size_t i = 0; i < spec.size(); ++i) {
      std::vector<int64_t> shape(spec[i].shape.begin(), spec[i].shape.end());
      for (size_t axis = 0; axis < shape.size(); ++axis)
        if (shape[axis] < 0) shape[axis] = extent(rows, i, axis);
      Value value{
          .shape = shape, .numbers = {}, .texts = {}, .is_text = spec[i].dtype == DType::bytes};
      value.shape.insert(value.shape.begin(), int64_t(rows.size()));
      for (const Item& row : rows) place(row.element[i], shape, value, -7);
      batch.element.push_back(std::move(value));
    }
    return batch;
  }
  int64_t extent(const Items& rows, size_t i, size_t axis) const {
    int64_t longest = 0;
    for (const Item& row : rows) longest = std::max(longest, row.element[i].shape[axis]);
    for (int64_t allowed : form_.lengths)
      if (longest <= allowed) return allowed;
    return longest;
  }
  Form form_;
};

class UnbatchStep final : public InputStep {
 public:
  using InputStep::InputStep;
  Dataset dataset() const override { return input_->dataset().unbatch(); }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items rows;
    for (const Item& batch : input_->items(epoch, keys)) {
      int64_t count = batch.error.empty() ? batch.element[0].shape[0] : 1;
      for (int64_t row = 0; row < count; ++row) {
        rows.push_back({epoch, int64_t(rows.size()), {}, batch.error});
        if (batch.error.empty())
          for (const Value& value : batch.element)
            rows.back().element.push_back(row_of(value, row));
      }
    }
    return rows;
  }
  std::string text() const override { return after("unbatch()"); }

 private:
  static Value row_of(const Value& value, int64_t row) {
    Value result{.shape = {value.shape.begin() + 1, value.shape.end()},
                 .numbers = {},
                 .texts = {},
                 .is_text = value.is_text};
    auto cut = [&](const auto& all, auto& part) {
      size_t size = all.size() / size_t(value.shape[0]);
      part.assign(all.begin() + ptrdiff_t(size_t(row) * size),
                  all.begin() + ptrdiff_t(size_t(row + 1) * size));
    };
    if (value.is_text)
      cut(value.texts, result.texts);
    else
      cut(value.numbers, result.numbers);
    return result;
  }
};

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
  enum class Kind { take, skip, shard };
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
  enum class Kind { zip, concatenate };
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

class EnumerateStep final : public InputStep {
 public:
  using InputStep::InputStep;
  Dataset dataset() const override { return input_->dataset().enumerate(5); }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items items = input_->items(epoch, keys);
    for (size_t i = 0; i < items.size(); ++i)
      items[i].element.insert(items[i].element.begin(),
                              Value{.shape = {}, .numbers = {5 + int64_t(i)}, .texts = {}});
    return items;
  }
  std::string text() const override { return after("enumerate(5)"); }
};

class CacheStep final : public InputStep {
 public:
  using InputStep::InputStep;
  Dataset dataset() const override { return input_->dataset().cache(); }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items items = input_->items(0, keys);
    for (Item& item : items) item.epoch = epoch;
    return items;
  }
  std::string text() const override { return after("cache()"); }
};

class PrefetchStep final : public InputStep {
 public:
  using InputStep::InputStep;
  Dataset dataset() const override { return input_->dataset().prefetch(3); }
  Items items(int64_t epoch, const Keys& keys) const override { return input_->items(epoch, keys); }
  std::string text() const override { return after("prefetch(3)"); }
  uint64_t depth() const override { return input_->depth(); }
};

class OnErrorStep final : public InputStep {
 public:
  OnErrorStep(StepRef input, data::OnError policy) : InputStep(std::move(input)), policy_(policy) {}
  Dataset dataset() const override {
    return input_->dataset().on_error(policy_, {.max_errors = 1'000'000});
  }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items before = input_->items(epoch, keys), after;
    uint64_t key = key_of(depth(), keys) + 1;
    for (size_t i = 0; i < before.size(); ++i) {
      if (policy_ == data::OnError::skip) {
        if (before[i].error.empty()) after.push_back(before[i]);
        continue;
      }
      size_t chosen = i;
      Rng rng = rng_of(key, {epoch, int64_t(i)});
      for (int tries = 1; !before[chosen].error.empty() && tries < 16; ++tries)
        chosen = size_t(rng.integer(0, int64_t(before.size())));
      after.push_back(before[chosen]);
    }
    return after;
  }
  std::string text() const override {
    return after(policy_ == data::OnError::skip ? "on_error(skip)" : "on_error(replace)");
  }
  uint64_t depth() const override { return input_->depth(); }

 private:
  data::OnError policy_;
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
    StepRef inner = std::make_shared<RangeStep>(begin, begin + int64_t(hash / 1000 % 5), 1);
    if (hash / 5000 % 2 == 0) inner = std::make_shared<ShuffleStep>(inner, data::ShuffleOptions{});
    if (hash / 10000 % 2 == 0) inner = std::make_shared<MapStep>(inner, noisy(), AUTOTUNE);
    if (hash / 20000 % 3 == 0) inner = std::make_shared<FilterStep>(inner, lucky());
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

// --- drawing ---

constexpr size_t kMostItems = 60;

class Drawing {
 public:
  Drawing(Rng& rng, const ChainOptions& options) : rng_(rng), options_(options) {}

  StepRef chain(int steps) {
    StepRef step = source();
    for (int i = 0; i < steps; ++i) step = bounded(next(step, steps));
    return step;
  }

 private:
  int64_t below(int64_t n) { return rng_.integer(0, n); }
  bool maybe(int64_t one_in) { return below(one_in) == 0; }
  int64_t parallel() {
    constexpr int64_t kChoices[] = {AUTOTUNE, AUTOTUNE, 1, 3, 8};
    return kChoices[below(5)];
  }

  StepRef source() {
    int64_t count = maybe(8) ? 0 : below(30);
    switch (below(4)) {
      case 0:
        return std::make_shared<SlicesStep>(count);
      case 1:
        return std::make_shared<GeneratorStep>(count);
      default:
        return std::make_shared<RangeStep>(-5, -5 + 2 * count, 2);
    }
  }

  StepRef bounded(StepRef step) {
    if (step->items(0, {1, 0}).size() <= kMostItems) return step;
    return std::make_shared<CutStep>(step, CutStep::Kind::take, 40, 0);
  }

  static bool rectangular(const data::ElementSpec& spec) {
    return std::all_of(spec.begin(), spec.end(),
                       [](const TensorSpec& component) { return component.shape.is_known(); });
  }
  static bool only(const data::ElementSpec& spec, int low, int high) {
    return std::all_of(spec.begin(), spec.end(), [&](const TensorSpec& component) {
      return component.shape.rank() >= low && component.shape.rank() <= high;
    });
  }

  StepRef map(const StepRef& step) {
    switch (below(options_.errors ? 6 : 5)) {
      case 0:
        return std::make_shared<MapStep>(step, affine(), parallel());
      case 1:
        if (step->dataset().spec().size() < 4)
          return std::make_shared<MapStep>(step, grow(), parallel());
        [[fallthrough]];
      case 2:
        return std::make_shared<MapStep>(step, summary(), parallel());
      case 5:
        return std::make_shared<MapStep>(step, picky(5 + below(20)), parallel());
      default:
        return std::make_shared<MapStep>(step, noisy(), parallel());
    }
  }

  StepRef batch(const StepRef& step) {
    BatchStep::Form form{.size = 1 + below(5), .drop = maybe(3)};
    const data::ElementSpec spec = step->dataset().spec();
    if (!only(spec, 0, 3)) return nullptr;
    form.padded = !rectangular(spec) || maybe(4);
    if (form.padded && maybe(3)) form.lengths = {2, 64};
    return std::make_shared<BatchStep>(step, form);
  }

  StepRef pair(const StepRef& step, int steps) {
    StepRef other = chain(int(below(std::max(steps / 2, 1))));
    auto kind = maybe(2) ? PairStep::Kind::zip : PairStep::Kind::concatenate;
    if (kind == PairStep::Kind::concatenate) {
      auto summed = [](const StepRef& of) -> StepRef {
        return std::make_shared<MapStep>(of, summary(), AUTOTUNE);
      };
      return std::make_shared<PairStep>(summed(step), summed(other), kind);
    }
    return std::make_shared<PairStep>(step, other, kind);
  }

  StepRef shuffle(const StepRef& step) {
    data::Dataset dataset = step->dataset();
    if (!dataset.random_access()) return std::make_shared<WindowShuffleStep>(step, 1 + below(12));
    data::ShuffleOptions options;
    if (maybe(4)) options.seed = uint64_t(below(100));
    options.reshuffle_each_epoch = !maybe(4);
    if (maybe(3)) return std::make_shared<WindowShuffleStep>(step, 1 + below(12));
    return std::make_shared<ShuffleStep>(step, options);
  }

  StepRef policy(const StepRef& step) {
    bool replace = step->dataset().random_access() && maybe(2);
    return std::make_shared<OnErrorStep>(step,
                                         replace ? data::OnError::replace : data::OnError::skip);
  }

  StepRef cut(const StepRef& step) {
    auto kind = CutStep::Kind(below(3));
    if (kind == CutStep::Kind::shard) {
      int64_t count = 1 + below(3);
      return std::make_shared<CutStep>(step, kind, count, below(count));
    }
    return std::make_shared<CutStep>(step, kind, maybe(10) ? 0 : below(30), 0);
  }

  StepRef repeat(const StepRef& step) {
    if (maybe(3)) return std::make_shared<RepeatStep>(step, -1, below(40));
    return std::make_shared<RepeatStep>(step, maybe(12) ? 0 : 1 + below(3), 0);
  }

  StepRef interleave(const StepRef& step) {
    if (maybe(3)) return std::make_shared<InterleaveStep>(step, 0, 1, 1);
    return std::make_shared<InterleaveStep>(step, 1 + below(4), 1 + below(3),
                                            maybe(2) ? 1 : AUTOTUNE);
  }

  StepRef unbatch(const StepRef& step) {
    const data::ElementSpec spec = step->dataset().spec();
    if (!only(spec, 1, 8)) return nullptr;
    // Components of other extents than the first are a mistake of the chain, not of the runtime.
    bool equal = spec.size() == 1 || dynamic_cast<const BatchStep*>(step.get()) != nullptr;
    return equal ? std::make_shared<UnbatchStep>(step) : nullptr;
  }

  StepRef next(const StepRef& step, int steps) {
    while (true) {
      StepRef result;
      switch (below(15)) {
        case 0:
        case 1:
        case 2:
          result = map(step);
          break;
        case 3:
          result = std::make_shared<FilterStep>(step, maybe(2) ? most() : lucky());
          break;
        case 4:
        case 5:
          result = batch(step);
          break;
        case 6:
          result = unbatch(step);
          break;
        case 7:
          result = shuffle(step);
          break;
        case 8:
          result = repeat(step);
          break;
        case 9:
          result = cut(step);
          break;
        case 10:
          result = pair(step, steps);
          break;
        case 11:
          if (step->dataset().spec().size() < 4) result = std::make_shared<EnumerateStep>(step);
          break;
        case 12:
          result = maybe(2) ? StepRef(std::make_shared<CacheStep>(step))
                            : std::make_shared<PrefetchStep>(step);
          break;
        case 13:
          result = interleave(step);
          break;
        default:
          result = policy(step);
          break;
      }
      if (result) return result;
    }
  }

  Rng& rng_;
  ChainOptions options_;
};

}  // namespace

StepRef draw_chain(Rng& rng, const ChainOptions& options) {
  return Drawing(rng, options).chain(int(rng.integer(1, options.steps + 1)));
}

StepRef range_step(int64_t begin, int64_t end, int64_t step) {
  return std::make_shared<RangeStep>(begin, end, step);
}

}  // namespace stoker::test
