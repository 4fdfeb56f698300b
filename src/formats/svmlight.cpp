#include "formats/svmlight.h"

#include <cmath>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/printable.h"
#include "formats/number_text.h"

namespace stoker {

namespace {

constexpr size_t kLongestShown = 40;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string shown(std::string_view word) { return printable(word.substr(0, kLongestShown)); }

// A float that is all of the word; a plus sign may stand before it.
std::optional<float> whole_float(const char* at, const char* end) {
  if (end - at > 1 && *at == '+' && at[1] != '-') ++at;
  float value = 0;
  if (at == end || parse_float(at, end, value) != end) return {};
  return value;
}

}  // namespace

SvmlightLine::SvmlightLine(std::string_view line) {
  line = line.substr(0, line.find('#'));
  at_ = line.data();
  end_ = at_ + line.size();
  label_ = next_word();
  if (label_.empty()) throw ValueError("the line has no label");
  if (label_.find(':') != std::string_view::npos)
    throw ValueError(fmt::format("expected a label first, got \"{}\"", shown(label_)));
  if (label_.find(',') != std::string_view::npos)
    throw ValueError(fmt::format("expected one label, got several: \"{}\"", shown(label_)));
  label();
  // A query's number may follow, and nothing is made of it.
  const char* behind = at_;
  std::string_view word = next_word();
  int64_t query = 0;
  if (!word.starts_with("qid:")) {
    at_ = behind;
  } else if (parse_integer(word.data() + 4, word.data() + word.size(), query) !=
             word.data() + word.size()) {
    throw ValueError(fmt::format("expected qid:NUMBER, got \"{}\"", shown(word)));
  }
}

float SvmlightLine::label() const {
  if (auto value = whole_float(label_.data(), label_.data() + label_.size())) return *value;
  throw ValueError(fmt::format("expected a number as the label, got \"{}\"", shown(label_)));
}

std::optional<int64_t> SvmlightLine::whole_label() const {
  constexpr float kExact = 1 << 24;  // every whole number up to here is a float
  const char* end = label_.data() + label_.size();
  int64_t whole = 0;
  if (parse_integer(label_.data(), end, whole) == end) return whole;
  float value = label();  // "1.0"
  if (std::abs(value) <= kExact && value == std::floor(value)) return int64_t(value);
  return {};
}

std::string_view SvmlightLine::next_word() {
  while (at_ < end_ && is_blank(*at_)) ++at_;
  const char* begin = at_;
  while (at_ < end_ && !is_blank(*at_)) ++at_;
  return {begin, size_t(at_ - begin)};
}

std::optional<SvmlightEntry> SvmlightLine::next() {
  std::string_view word = next_word();
  if (word.empty()) return {};
  const char* end = word.data() + word.size();
  SvmlightEntry entry;
  const char* colon = parse_integer(word.data(), end, entry.index);
  bool pair = colon != nullptr && colon < end && *colon == ':';
  auto value = pair ? whole_float(colon + 1, end) : std::optional<float>();
  if (!value || entry.index < 0)
    throw ValueError(fmt::format("expected INDEX:VALUE, got \"{}\"", shown(word)));
  if (entry.index <= last_)
    throw ValueError(fmt::format("index {} follows index {}; indices ascend", entry.index, last_));
  last_ = entry.index;
  entry.value = *value;
  return entry;
}

}  // namespace stoker
