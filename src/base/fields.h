// The options of a struct as a table, one row per option. The struct says the types, the defaults and
// what each option means; the row adds its name and what its value may be. From the table come the
// configuration in files and back, the checks, the errors and the reference pages.
//
//   struct DropoutConfig {
//     double rate = 0;
//     std::vector<int64_t> noise_shape = {};
//   };
//   Fields<DropoutConfig> fields = {
//       {"rate", &DropoutConfig::rate, {.check = in_half_open(0, 1), .required = true}},
//       {"noise_shape", &DropoutConfig::noise_shape}};
//   fields.check("Dropout \"d\"", options);         // ValueError: rate is …, got …
//   Attrs config = fields.write(options);           // in the order of the rows
//   fields.read("Dropout \"d\"", config, options);  // ValueError: unknown, mistyped or missing
//
// An option that is absent from a configuration keeps the value it has: the struct's default. Types
// are known through FieldType (field_types.h; a room adds its own). Members of a base struct are
// fields like any other. Names and words are literals. A table is immutable and may be used from many
// threads.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/error.h>

#include "base/field_types.h"

namespace stoker {

// What a value may be. Numbers are checked one by one where the value has several. A NaN passes no
// check, an infinity only one that allows it.
struct Check {
  enum class Rule : uint8_t { none, at_least, above, between, half_open, open, words, not_empty };
  static constexpr size_t kMostWords = 8;

  Rule rule = Rule::none;
  bool infinite = false;
  double low = 0, high = 0;
  std::array<const char*, kMostWords> words = {};  // for Rule::words, of text and of numbers
  const char* said = nullptr;                      // in place of the rule's own words

  bool number(double value) const;
  bool word(const std::string& value) const;
  std::string expected() const;  // "at least 1"; empty: everything is good

  constexpr Check or_infinite() const {
    Check wider = *this;
    wider.infinite = true;
    return wider;
  }
  // The same with other words: in_half_open(0, 1).saying("at least 0 and below 1, the share …").
  constexpr Check saying(const char* other) const {
    Check same = *this;
    same.said = other;
    return same;
  }
};
constexpr Check at_least(double bound) { return {.rule = Check::Rule::at_least, .low = bound}; }
constexpr Check above(double bound) { return {.rule = Check::Rule::above, .low = bound}; }
constexpr Check between(double low, double high) {  // both ends are good
  return {.rule = Check::Rule::between, .low = low, .high = high};
}
constexpr Check in_half_open(double low, double high) {  // [low, high)
  return {.rule = Check::Rule::half_open, .low = low, .high = high};
}
constexpr Check in_open(double low, double high) {  // (low, high)
  return {.rule = Check::Rule::open, .low = low, .high = high};
}
constexpr Check one_of(std::array<const char*, Check::kMostWords> words) {
  return {.rule = Check::Rule::words, .words = words};
}
constexpr Check not_empty() { return {.rule = Check::Rule::not_empty}; }  // text, a list

// A row as text, for the reference.
struct FieldText {
  std::string name, fallback, expected;
  bool required = false;
};

struct FieldOptions {
  Check check = {};
  bool required = false;  // must be in a configuration that is read
  bool sparse = false;    // not written where it is the default
};

// Part of an error: an option whose value is not what is expected.
[[noreturn]] void fail_value(const std::string& owner, std::string_view name,
                             const std::string& expected, const std::string& got);

// A table whatever its struct: options are bytes, and members stand at offsets. Fields<Options> is
// the form to use; all the work is here, compiled once.
class FieldTable {
 public:
  struct Row {
    std::string_view name;
    const ValueType* type;
    std::ptrdiff_t offset;
    FieldOptions options;
  };
  using Names = std::span<const std::string_view>;

  // `defaults`: an Options that lives as long as the table.
  explicit FieldTable(const void* defaults) : defaults_(defaults) {}

  void add(const Row& row) { rows_.push_back(row); }
  const std::vector<Row>& rows() const { return rows_; }
  Attrs write(const void* options) const;
  void read(const std::string& owner, const Attrs& attrs, void* options, Names also) const;
  void check(const std::string& owner, const void* options) const;
  std::vector<std::string_view> names() const;
  std::vector<FieldText> text() const;

 private:
  bool knows(std::string_view entry) const;

  std::vector<Row> rows_;
  const void* defaults_;
};

template <class Options>
class Fields {
 public:
  struct Field {
    template <class Class, class T>
    Field(std::string_view name, T Class::*member, const FieldOptions& options = {})
        : row{name, &value_type<T>(), offset(&(defaults().*member)), options} {}
    template <class Class, class T>
    Field(std::string_view name, T Class::*member, const Check& check)
        : Field(name, member, FieldOptions{.check = check}) {}
    FieldTable::Row row;
  };

  Fields(std::initializer_list<Field> rows) : table_(&defaults()) {
    for (const Field& field : rows) table_.add(field.row);
  }

  // These rows, then those: tables that share rows are put together from parts.
  Fields then(const Fields& more) const {
    Fields both = *this;
    for (const FieldTable::Row& row : more.table_.rows()) both.table_.add(row);
    return both;
  }

  Attrs write(const Options& options) const { return table_.write(&options); }
  // Entries named in `also` are the owner's own business. Does not check values.
  void read(const std::string& owner, const Attrs& attrs, Options& options,
            FieldTable::Names also = {}) const {
    table_.read(owner, attrs, &options, also);
  }
  void check(const std::string& owner, const Options& options) const {
    table_.check(owner, &options);
  }
  // The options that a configuration stands for, checked.
  Options made(const std::string& owner, const Attrs& attrs, Options options = {}) const {
    read(owner, attrs, options);
    check(owner, options);
    return options;
  }
  std::vector<std::string_view> names() const { return table_.names(); }
  std::vector<FieldText> text() const { return table_.text(); }

 private:
  static const Options& defaults() {
    static const Options options = {};
    return options;
  }
  static std::ptrdiff_t offset(const void* member) {
    return static_cast<const char*>(member) - reinterpret_cast<const char*>(&defaults());
  }

  FieldTable table_;
};

}  // namespace stoker
