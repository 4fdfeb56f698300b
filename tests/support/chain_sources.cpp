// Where chains begin.
#include <fmt/format.h>

#include "support/chain_steps.h"

namespace stoker::test {

using data::Dataset;

namespace {

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

}  // namespace

StepRef range_step(int64_t begin, int64_t end, int64_t step) {
  return std::make_shared<RangeStep>(begin, end, step);
}
StepRef slices_step(int64_t rows) { return std::make_shared<SlicesStep>(rows); }
StepRef generator_step(int64_t count) { return std::make_shared<GeneratorStep>(count); }

}  // namespace stoker::test
