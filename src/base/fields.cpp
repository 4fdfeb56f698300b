#include "base/fields.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stoker {

// --- checks --------------------------------------------------------------------------------------

Check Check::or_infinite() const {
  Check wider = *this;
  wider.number = [number = number](double value) { return std::isinf(value) || number(value); };
  return wider;
}

Check Check::saying(std::string words) const {
  Check same = *this;
  same.expected = std::move(words);
  return same;
}

Check at_least(double bound) {
  return {.expected = fmt::format("at least {}", bound),
          .number = [=](double value) { return value >= bound && std::isfinite(value); }};
}

Check above(double bound) {
  return {.expected = fmt::format("above {}", bound),
          .number = [=](double value) { return value > bound && std::isfinite(value); }};
}

Check between(double low, double high) {
  return {.expected = fmt::format("between {} and {}", low, high),
          .number = [=](double value) { return value >= low && value <= high; }};
}

Check in_half_open(double low, double high) {
  return {.expected = fmt::format("a number in [{}, {})", low, high),
          .number = [=](double value) { return value >= low && value < high; }};
}

Check in_open(double low, double high) {
  return {.expected = fmt::format("a number in ({}, {})", low, high),
          .number = [=](double value) { return value > low && value < high; }};
}

Check one_of(std::vector<std::string> names) {
  std::string expected;
  for (size_t i = 0; i < names.size(); ++i) {
    const char* before = i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    expected += fmt::format("{}\"{}\"", before, names[i]);
  }
  return {.expected = expected, .names = std::move(names)};
}

// --- rows ----------------------------------------------------------------------------------------

namespace fields {

bool passes(const Check& check, std::span<const double> numbers, const std::string* text) {
  if (check.number && !std::ranges::all_of(numbers, check.number)) return false;
  if (check.names.empty() || text == nullptr) return true;
  return std::ranges::find(check.names, *text) != check.names.end();
}

void fail_value(const std::string& owner, std::string_view name, const std::string& expected,
                const std::string& got) {
  throw ValueError(fmt::format("{}: {} is {}, got {}", owner, name, expected, got));
}

void fail_unknown(const std::string& owner, std::string_view name,
                  const std::vector<std::string_view>& known) {
  if (known.empty())
    throw ValueError(fmt::format("{}: unknown option \"{}\"; it has no options", owner, name));
  throw ValueError(
      fmt::format("{}: unknown option \"{}\"; there are {}", owner, name, fmt::join(known, ", ")));
}

void fail_missing(const std::string& owner, std::string_view name) {
  throw ValueError(fmt::format("{}: option \"{}\" is missing", owner, name));
}

void fail_type(const std::string& owner, std::string_view name, const Attr& got,
               const char* expected) {
  std::string value = to_string(Attrs{{std::string(name), got}});
  throw ValueError(fmt::format("{}: wrong type of option \"{}\": expected {}, got {}", owner, name,
                               expected, value));
}

bool is_inside(std::string_view entry, std::string_view field) {
  return entry.size() > field.size() && entry.starts_with(field) &&
         (entry[field.size()] == '.' || entry[field.size()] == '/');
}

// --- types ---------------------------------------------------------------------------------------

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
