#include "data/text/tokenizer/fitting.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "data/text/json_reader.h"

namespace stoker::text {

namespace {

constexpr int64_t kLongest = int64_t(1) << 30;

Side read_side(const JsonReader& json) {
  std::string side = json.text("direction", "Right");
  if (side == "Right") return Side::right;
  if (side == "Left") return Side::left;
  json.refuse("direction", "Left or Right");
}

void cut_to(std::vector<int64_t>& ids, int64_t length, Side side) {
  if (int64_t(ids.size()) <= length) return;
  if (side == Side::left)
    ids.erase(ids.begin(), ids.end() - length);
  else
    ids.resize(size_t(length));
}

// The lengths of two texts that are `most` together, the shorter one cut last.
std::pair<int64_t, int64_t> shared(int64_t text, int64_t pair, int64_t most) {
  int64_t shorter = std::min(text, pair), longer = std::max(text, pair);
  longer = shorter > most ? shorter : std::min(longer, std::max(shorter, most - shorter));
  if (shorter + longer > most) shorter = most / 2, longer = shorter + most % 2;
  return text > pair ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

template <class T>
void fill(std::vector<T>& values, size_t length, const T& value, Side side) {
  values.insert(side == Side::left ? values.begin() : values.end(), length - values.size(), value);
}

}  // namespace

std::optional<Truncation> read_truncation(const nlohmann::json& json) {
  if (json.is_null()) return {};
  JsonReader reader(json, "truncation");
  Truncation truncation{.max_length = reader.whole("max_length"), .direction = read_side(reader)};
  std::string strategy = reader.text("strategy", "LongestFirst");
  if (strategy == "OnlyFirst")
    truncation.strategy = TruncationStrategy::only_first;
  else if (strategy == "OnlySecond")
    truncation.strategy = TruncationStrategy::only_second;
  else if (strategy != "LongestFirst")
    reader.refuse("strategy", "LongestFirst, OnlyFirst or OnlySecond");
  check_truncation(truncation);
  return truncation;
}

std::optional<Padding> read_padding(const nlohmann::json& json) {
  if (json.is_null()) return {};
  JsonReader reader(json, "padding");
  Padding padding{.direction = read_side(reader),
                  .pad_to_multiple_of = reader.whole("pad_to_multiple_of", 0),
                  .pad_id = reader.whole("pad_id", 0),
                  .pad_type_id = reader.whole("pad_type_id", 0),
                  .pad_token = reader.text("pad_token", "[PAD]")};
  const nlohmann::json& strategy = reader.at("strategy");
  if (strategy.is_object())
    padding.length = JsonReader(strategy, "padding.strategy").whole("Fixed");
  else if (strategy != "BatchLongest")
    reader.refuse("strategy", "BatchLongest or Fixed");
  check_padding(padding);
  return padding;
}

void check_truncation(const Truncation& truncation) {
  if (truncation.max_length < 0 || truncation.max_length > kLongest)
    throw ValueError(fmt::format("truncation: max_length is {}, expected 0 to {}",
                                 truncation.max_length, kLongest));
}

void check_padding(const Padding& padding) {
  int64_t length = padding.length.value_or(0);
  constexpr int64_t kMost = int64_t(1) << 20;
  if (length < 0 || length > kMost)
    throw ValueError(fmt::format("padding: length is {}, expected 0 to {}", length, kMost));
  if (padding.pad_to_multiple_of < 0 || padding.pad_to_multiple_of > kMost)
    throw ValueError(fmt::format("padding: pad_to_multiple_of is {}, expected 0 to {}",
                                 padding.pad_to_multiple_of, kMost));
}

std::string described(const std::optional<Truncation>& truncation) {
  if (!truncation) return {};
  return fmt::format(", truncation {} {} {}", truncation->max_length, int(truncation->strategy),
                     int(truncation->direction));
}

std::string described(const std::optional<Padding>& padding) {
  if (!padding) return {};
  return fmt::format(", padding {} {} {} {}", padding->length.value_or(-1), int(padding->direction),
                     padding->pad_to_multiple_of, padding->pad_id);
}

void truncate(std::vector<int64_t>& text, std::vector<int64_t>* pair, const Truncation& truncation,
              int64_t added) {
  int64_t most = truncation.max_length - added;
  int64_t total = int64_t(text.size()) + (pair == nullptr ? 0 : int64_t(pair->size()));
  if (most < 0)
    throw ValueError(fmt::format("truncation to {} tokens leaves no room for {} special ones",
                                 truncation.max_length, added));
  if (total <= most) return;
  Side side = truncation.direction;
  if (truncation.strategy == TruncationStrategy::longest_first) {
    if (pair == nullptr) return cut_to(text, most, side);
    auto [first, second] = shared(int64_t(text.size()), int64_t(pair->size()), most);
    cut_to(text, first, side);
    return cut_to(*pair, second, side);
  }
  bool second = truncation.strategy == TruncationStrategy::only_second;
  if (second && pair == nullptr)
    throw ValueError("truncation of the second text alone, but there is one text only");
  std::vector<int64_t>& cut = second ? *pair : text;
  if (int64_t(cut.size()) <= total - most)
    throw ValueError(fmt::format(
        "truncation to {} tokens: the text that may be cut has {}, and {} would have to go",
        truncation.max_length, cut.size(), total - most));
  cut_to(cut, int64_t(cut.size()) - (total - most), side);
}

void pad(std::vector<Encoding>& batch, const Padding& padding) {
  size_t length = 0;
  for (const Encoding& each : batch) length = std::max(length, each.ids.size());
  if (padding.length) length = size_t(*padding.length);
  if (auto multiple = size_t(padding.pad_to_multiple_of); multiple > 0 && length % multiple > 0)
    length += multiple - length % multiple;
  for (Encoding& each : batch) {
    if (each.ids.size() >= length) continue;
    fill(each.ids, length, padding.pad_id, padding.direction);
    fill(each.type_ids, length, padding.pad_type_id, padding.direction);
    fill(each.attention_mask, length, int64_t(0), padding.direction);
    fill(each.special_tokens_mask, length, int64_t(1), padding.direction);
    fill(each.tokens, length, padding.pad_token, padding.direction);
  }
}

int64_t fixed_length(const std::optional<Truncation>& truncation,
                     const std::optional<Padding>& padding) {
  if (!truncation || !padding || !padding->length) return -1;
  std::vector<Encoding> empty(1);
  pad(empty, *padding);
  auto length = int64_t(empty[0].ids.size());
  return truncation->max_length <= length ? length : -1;
}

}  // namespace stoker::text
