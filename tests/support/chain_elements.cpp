// What elements become: map, filter, batch, unbatch, enumerate, cache, prefetch, on_error.
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/chain_steps.h"

namespace stoker::test {

using data::Dataset;

namespace {

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
  BatchStep(StepRef input, BatchForm form) : InputStep(std::move(input)), form_(std::move(form)) {}

  Dataset dataset() const override {
    if (!form_.padded) return input_->dataset().batch(form_.size, {.drop_remainder = form_.drop});
    if (!form_.boundaries.empty())
      return input_->dataset().bucket_by_sequence_length(
          form_.boundaries, std::vector<int64_t>(form_.boundaries.size() + 1, form_.size),
          {.padding_values = {-7}, .drop_remainder = form_.drop});
    return input_->dataset().padded_batch(
        form_.size, {.lengths = form_.lengths, .padding_value = -7, .drop_remainder = form_.drop});
  }
  Items items(int64_t epoch, const Keys& keys) const override {
    Items rows = input_->items(epoch, keys), batches;
    for (const Items& group : form_.boundaries.empty() ? in_order(rows) : in_buckets(rows)) {
      batches.push_back(joined(group));
      batches.back().epoch = epoch;
      batches.back().index = int64_t(batches.size()) - 1;
    }
    return batches;
  }
  std::string text() const override {
    return after(fmt::format("{}({}{}, {}, {})", form_.padded ? "padded_batch" : "batch",
                             form_.size, form_.drop ? ", drop" : "", form_.lengths,
                             form_.boundaries));
  }

 private:
  std::vector<Items> in_order(const Items& rows) const {
    std::vector<Items> groups;
    auto size = size_t(form_.size);
    for (size_t begin = 0; begin < rows.size(); begin += size) {
      size_t end = std::min(begin + size, rows.size());
      if (form_.drop && end - begin < size) break;
      groups.emplace_back(rows.begin() + ptrdiff_t(begin), rows.begin() + ptrdiff_t(end));
    }
    return groups;
  }

  // A row that could not be made is a group of its own.
  std::vector<Items> in_buckets(const Items& rows) const {
    std::vector<Items> groups, buckets(form_.boundaries.size() + 1);
    for (const Item& row : rows) {
      if (!row.error.empty()) {
        groups.push_back({row});
        continue;
      }
      size_t at = 0;
      while (at < form_.boundaries.size() && row.element[0].shape[0] >= form_.boundaries[at]) ++at;
      buckets[at].push_back(row);
      if (int64_t(buckets[at].size()) == form_.size)
        groups.push_back(std::exchange(buckets[at], {}));
    }
    for (const Items& bucket : buckets)
      if (!bucket.empty() && !form_.drop) groups.push_back(bucket);
    return groups;
  }

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
  BatchForm form_;
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

}  // namespace

StepRef map_step(StepRef input, PlainFunction function, int64_t parallel) {
  return std::make_shared<MapStep>(std::move(input), std::move(function), parallel);
}
StepRef filter_step(StepRef input, PlainPredicate predicate) {
  return std::make_shared<FilterStep>(std::move(input), std::move(predicate));
}
StepRef batch_step(StepRef input, BatchForm form) {
  return std::make_shared<BatchStep>(std::move(input), std::move(form));
}
bool gives_batches(const Step& step) { return dynamic_cast<const BatchStep*>(&step) != nullptr; }
StepRef unbatch_step(StepRef input) { return std::make_shared<UnbatchStep>(std::move(input)); }
StepRef enumerate_step(StepRef input) { return std::make_shared<EnumerateStep>(std::move(input)); }
StepRef cache_step(StepRef input) { return std::make_shared<CacheStep>(std::move(input)); }
StepRef prefetch_step(StepRef input) { return std::make_shared<PrefetchStep>(std::move(input)); }
StepRef on_error_step(StepRef input, data::OnError policy) {
  return std::make_shared<OnErrorStep>(std::move(input), policy);
}

}  // namespace stoker::test
