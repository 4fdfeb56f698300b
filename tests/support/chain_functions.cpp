#include "support/chain_functions.h"

#include <algorithm>
#include <stdexcept>

#include <stoker/error.h>

namespace stoker::test {

namespace {

Element read(std::span<const ConstTensorView> views) {
  Element element;
  for (const ConstTensorView& view : views) {
    Value& value = element.emplace_back();
    value.shape.assign(view.shape.begin(), view.shape.end());
    value.is_text = view.dtype == DType::bytes;
    if (value.is_text) {
      auto texts = view.values<std::string>();
      value.texts.assign(texts.begin(), texts.end());
    } else {
      auto numbers = view.values<int64_t>();
      value.numbers.assign(numbers.begin(), numbers.end());
    }
  }
  return element;
}

void write(const Element& element, data::ElementWriter& out) {
  for (size_t i = 0; i < element.size(); ++i) {
    const Value& value = element[i];
    Shape shape{std::span<const int64_t>(value.shape)};
    if (value.is_text)
      std::copy(value.texts.begin(), value.texts.end(),
                static_cast<std::string*>(out.put(i, DType::bytes, shape)));
    else
      std::copy(value.numbers.begin(), value.numbers.end(),
                static_cast<int64_t*>(out.put(i, DType::int64, shape)));
  }
}

class Function final : public data::ElementFunction {
 public:
  explicit Function(PlainFunction plain) : plain_(std::move(plain)) {}
  std::string name() const override { return plain_.name; }
  data::ElementSpec infer(const data::ElementSpec& in) const override {
    return plain_.spec ? plain_.spec(in) : in;
  }
  void apply(std::span<const ConstTensorView> in, data::ElementWriter& out,
             Rng& rng) const override {
    write(plain_.apply(read(in), rng), out);
  }
  bool is_random() const override { return plain_.random; }

 private:
  PlainFunction plain_;
};

class Predicate final : public data::ElementPredicate {
 public:
  explicit Predicate(PlainPredicate plain) : plain_(std::move(plain)) {}
  void check(const data::ElementSpec&) const override {}
  bool test(std::span<const ConstTensorView> in, Rng& rng) const override {
    return plain_.test(read(in), rng);
  }

 private:
  PlainPredicate plain_;
};

}  // namespace

data::FunctionRef as_function(const PlainFunction& function) {
  return std::make_shared<Function>(function);
}
data::PredicateRef as_predicate(const PlainPredicate& predicate) {
  return std::make_shared<Predicate>(predicate);
}

uint64_t hash_of(const Element& element) {
  uint64_t hash = 0xCBF29CE484222325U;
  auto add = [&](uint64_t x) { hash = (hash ^ x) * 0x9E3779B97F4A7C15U, hash ^= hash >> 29; };
  for (const Value& value : element) {
    for (int64_t number : value.numbers) add(uint64_t(number));
    for (const std::string& text : value.texts)
      for (char letter : text) add(uint8_t(letter));
    add(value.shape.size());
  }
  return hash;
}

PlainFunction affine() {
  return {.name = "affine",
          .random = false,
          .apply =
              [](Element element, Rng&) {
                for (Value& value : element) {
                  for (int64_t& number : value.numbers) number = int64_t(uint64_t(number) * 3 + 1);
                  for (std::string& text : value.texts) text += "!";
                }
                return element;
              },
          .spec = {}};
}

PlainFunction noisy() {
  return {.name = "noisy",
          .random = true,
          .apply =
              [](Element element, Rng& rng) {
                for (Value& value : element) {
                  for (int64_t& number : value.numbers)
                    number = int64_t(uint64_t(number) + uint64_t(rng.integer(0, 1000)));
                  for (std::string& text : value.texts) text += char('a' + rng.integer(0, 26));
                }
                return element;
              },
          .spec = {}};
}

PlainFunction grow() {
  return {.name = "grow",
          .random = false,
          .apply =
              [](Element element, Rng&) {
                auto count = int64_t(hash_of(element) % 4);
                Value more{.shape = {count}, .numbers = {}, .texts = {}};
                for (int64_t i = 0; i < count; ++i) more.numbers.push_back(10 * count + i);
                element.push_back(std::move(more));
                return element;
              },
          .spec =
              [](data::ElementSpec spec) {
                spec.push_back({DType::int64, {-1}});
                return spec;
              }};
}

PlainFunction summary() {
  return {.name = "summary",
          .random = false,
          .apply =
              [](const Element& element, Rng&) {
                return Element{
                    {.shape = {}, .numbers = {int64_t(hash_of(element) >> 20)}, .texts = {}}};
              },
          .spec =
              [](const data::ElementSpec&) {
                return data::ElementSpec{{DType::int64, {}}};
              }};
}

PlainFunction picky(int64_t m) {
  return {.name = "picky" + std::to_string(m),
          .random = false,
          .apply =
              [m](Element element, Rng&) {
                uint64_t hash = hash_of(element);
                if (hash % uint64_t(m) == 0)
                  throw std::runtime_error("refuses " + std::to_string(hash));
                return element;
              },
          .spec = {}};
}

PlainPredicate most() {
  return {"most", [](const Element& element, Rng&) { return hash_of(element) % 4 != 0; }};
}
PlainPredicate lucky() {
  return {"lucky", [](const Element&, Rng& rng) { return rng.integer(0, 3) != 0; }};
}

}  // namespace stoker::test
