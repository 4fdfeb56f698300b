#include "base/fields.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stoker {

// --- checks --------------------------------------------------------------------------------------

namespace {

std::vector<std::string> words_of(const Check& check, bool quoted) {
  std::vector<std::string> words;
  for (const char* word : check.words)
    if (word != nullptr) words.push_back(quoted ? fmt::format("\"{}\"", word) : word);
  return words;
}

// "a, b or c"
std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.-") == std::string::npos;
}

}  // namespace

bool Check::number(double value) const {
  if (std::isinf(value)) return rule == Rule::none || (infinite && value > 0);
  switch (rule) {
    case Rule::at_least:
      return value >= low;
    case Rule::above:
      return value > low;
    case Rule::between:
      return value >= low && value <= high;
    case Rule::half_open:
      return value >= low && value < high;
    case Rule::open:
      return value > low && value < high;
    case Rule::words:
      return word(fields::number_text(value));
    case Rule::none:
    case Rule::not_empty:
      break;
  }
  return true;
}

bool Check::word(const std::string& value) const {
  if (rule == Rule::not_empty) return !value.empty();
  if (rule != Rule::words) return true;
  std::vector<std::string> known = words_of(*this, false);
  return std::ranges::find(known, value) != known.end();
}

std::string Check::expected() const {
  if (said != nullptr) return said;
  switch (rule) {
    case Rule::at_least:
      return fmt::format("at least {}", low);
    case Rule::above:
      return fmt::format("above {}", low);
    case Rule::between:
      return fmt::format("between {} and {}", low, high);
    case Rule::half_open:
      return fmt::format("a number in [{}, {})", low, high);
    case Rule::open:
      return fmt::format("a number in ({}, {})", low, high);
    case Rule::words:
      return alternatives(words_of(*this, !is_number(words[0])));
    case Rule::not_empty:
      return "non-empty";
    case Rule::none:
      break;
  }
  return "";
}

// --- errors --------------------------------------------------------------------------------------

void fail_value(const std::string& owner, std::string_view name, const std::string& expected,
                const std::string& got) {
  throw ValueError(fmt::format("{}: {} must be {}, got {}", owner, name, expected, got));
}

namespace {

[[noreturn]] void fail_unknown(const std::string& owner, std::string_view name,
                               const std::vector<std::string_view>& known) {
  std::string there =
      known.empty() ? "it has no options" : fmt::format("there are {}", fmt::join(known, ", "));
  throw ValueError(fmt::format("{}: unknown option \"{}\"; {}", owner, name, there));
}

[[noreturn]] void fail_type(const std::string& owner, const FieldTable::Row& row, const Attr& got) {
  throw ValueError(fmt::format("{}: wrong type of option \"{}\": expected {}, got {}", owner,
                               row.name, row.type->name,
                               to_string(Attrs{{std::string(row.name), got}})));
}

// --- rows ----------------------------------------------------------------------------------------

// "kernel_initializer.stddev" and "learning_rate/decay_steps" belong to the fields before the mark.
bool is_inside(std::string_view entry, std::string_view field) {
  return entry.size() > field.size() && entry.starts_with(field) &&
         (entry[field.size()] == '.' || entry[field.size()] == '/');
}

const void* member(const FieldTable::Row& row, const void* options) {
  return static_cast<const char*>(options) + row.offset;
}

bool is_good(const FieldTable::Row& row, const void* value) {
  const Check& check = row.options.check;
  if (check.rule == Check::Rule::none) return true;
  if (const std::string* word = row.type->word(value)) return check.word(*word);
  std::vector<double> numbers = row.type->numbers(value);
  if (check.rule == Check::Rule::not_empty) return !numbers.empty();
  return std::ranges::all_of(numbers, [&](double number) { return check.number(number); });
}

bool is_default(const FieldTable::Row& row, const void* options, const void* defaults) {
  Attrs given, usual;
  row.type->write(given, row.name, member(row, options));
  row.type->write(usual, row.name, member(row, defaults));
  return given == usual;
}

void read_row(const FieldTable::Row& row, const std::string& owner, const Attrs& from,
              void* options) {
  const Attr* entry = from.find(row.name);
  if (entry == nullptr && row.options.required)
    throw ValueError(fmt::format("{}: option \"{}\" is missing", owner, row.name));
  if (entry == nullptr) return;
  bool good = false;
  try {
    good = row.type->read(from, row.name, static_cast<char*>(options) + row.offset);
  } catch (const ValueError& error) {  // a value that knows more: a misspelt initialiser
    throw ValueError(fmt::format("{}: {}: {}", owner, row.name, error.what()));
  }
  if (!good) fail_type(owner, row, *entry);
}

}  // namespace

bool FieldTable::knows(std::string_view entry) const {
  return std::ranges::any_of(rows_, [&](const Row& row) {
    return entry == row.name || (row.type->nested && is_inside(entry, row.name));
  });
}

Attrs FieldTable::write(const void* options) const {
  Attrs attrs;
  for (const Row& row : rows_)
    if (!row.options.sparse || !is_default(row, options, defaults_))
      row.type->write(attrs, row.name, member(row, options));
  return attrs;
}

void FieldTable::read(const std::string& owner, const Attrs& attrs, void* options,
                      Names also) const {
  for (const auto& [name, value] : attrs.entries())
    if (!knows(name) && std::ranges::find(also, name) == also.end())
      fail_unknown(owner, name, names());
  for (const Row& row : rows_) read_row(row, owner, attrs, options);
}

void FieldTable::check(const std::string& owner, const void* options) const {
  for (const Row& row : rows_)
    if (const void* value = member(row, options); !is_good(row, value))
      fail_value(owner, row.name, row.options.check.expected(), row.type->text(value));
}

std::vector<std::string_view> FieldTable::names() const {
  std::vector<std::string_view> all(rows_.size());
  std::ranges::transform(rows_, all.begin(), &Row::name);
  return all;
}

std::vector<FieldText> FieldTable::text() const {
  std::vector<FieldText> all;
  for (const Row& row : rows_)
    all.push_back({std::string(row.name), row.type->text(member(row, defaults_)),
                   row.options.check.expected(), row.options.required});
  return all;
}

// --- types ---------------------------------------------------------------------------------------

namespace fields {

std::string number_text(double value) { return fmt::format("{}", value); }

std::string list_text(const std::vector<double>& values) {
  return fmt::format("{{{}}}", fmt::join(values, ", "));
}

const Attr& entry(const Attrs& attrs, std::string_view name) { return *attrs.find(name); }

bool read_ints(const Attr& entry, Ints& values) {
  if (const auto* one = std::get_if<int64_t>(&entry)) values = {*one};
  if (const auto* list = std::get_if<Ints>(&entry)) values = *list;
  const auto* none = std::get_if<Doubles>(&entry);
  if (none != nullptr && none->empty()) values.clear();
  return std::holds_alternative<int64_t>(entry) || std::holds_alternative<Ints>(entry) ||
         (none != nullptr && none->empty());
}

void put_nested(Attrs& attrs, std::string_view name, const Attrs& inner, char mark) {
  for (const auto& [part, value] : inner.entries())
    attrs.set(fmt::format("{}{}{}", name, mark, part), value);
}

Attrs nested(const Attrs& attrs, std::string_view name, char mark) {
  Attrs inner;
  for (const auto& [entry, value] : attrs.entries())
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == mark)
      inner.set(std::string_view(entry).substr(name.size() + 1), value);
  return inner;
}

namespace {

template <class T>
bool read_as(const Attrs& attrs, std::string_view name, T& value) {
  const T* given = std::get_if<T>(&entry(attrs, name));
  if (given != nullptr) value = *given;
  return given != nullptr;
}

}  // namespace

}  // namespace fields

bool FieldType<bool>::read(const Attrs& attrs, std::string_view name, bool& value) {
  return fields::read_as(attrs, name, value);
}

bool FieldType<int64_t>::read(const Attrs& attrs, std::string_view name, int64_t& value) {
  return fields::read_as(attrs, name, value);
}

bool FieldType<int>::read(const Attrs& attrs, std::string_view name, int& value) {
  int64_t wide = 0;
  if (!fields::read_as(attrs, name, wide) || wide != int64_t(int(wide))) return false;
  value = int(wide);
  return true;
}

bool FieldType<double>::read(const Attrs& attrs, std::string_view name, double& value) {
  if (const auto* whole = std::get_if<int64_t>(&fields::entry(attrs, name))) {
    value = double(*whole);
    return true;
  }
  return fields::read_as(attrs, name, value);
}

bool FieldType<std::string>::read(const Attrs& attrs, std::string_view name, std::string& value) {
  return fields::read_as(attrs, name, value);
}

bool FieldType<Doubles>::read(const Attrs& attrs, std::string_view name, Doubles& value) {
  if (const auto* whole = std::get_if<Ints>(&fields::entry(attrs, name))) {
    value.assign(whole->begin(), whole->end());
    return true;
  }
  return fields::read_as(attrs, name, value);
}

bool FieldType<Shape>::read(const Attrs& attrs, std::string_view name, Shape& value) {
  Ints extents;
  if (!fields::read_ints(fields::entry(attrs, name), extents)) return false;
  value = Shape(std::span<const int64_t>(extents));
  return true;
}

bool FieldType<DType>::read(const Attrs& attrs, std::string_view name, DType& value) {
  std::string given;
  if (!fields::read_as(attrs, name, given)) return false;
  value = dtype_from_name(given);
  return true;
}

}  // namespace stoker
