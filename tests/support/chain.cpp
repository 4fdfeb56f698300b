#include "support/chain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/runtime/making.h"
#include "support/chain_steps.h"

namespace stoker::test {

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

uint64_t key_of(uint64_t depth, const Keys& keys) {
  return data::mixed(data::mixed(keys.seed, depth), keys.branch);
}

Rng rng_of(uint64_t key, const Item& item) {
  return Rng(data::mixed(key, uint64_t(item.epoch)), uint64_t(item.index));
}

}  // namespace stoker::test
