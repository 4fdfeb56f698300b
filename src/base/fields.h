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
//   fields.check("Dropout \"d\"", options);           // ValueError: rate is …, got …
//   Attrs config = fields.write(options);             // in the order of the rows
//   fields.read("Dropout \"d\"", config, options);    // ValueError: unknown, mistyped or missing
//
// An option that is absent from a configuration keeps the value it has: the struct's default. Types
// are known through FieldType (field_types.h; a room adds its own). Members of a base struct are
// fields like any other. A table is immutable and may be used from many threads.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/error.h>

#include "base/field_types.h"

namespace stoker {

// What a value may be. Numbers are checked one by one where the value has several; one_of looks at
// text. A NaN passes no check, an infinity only one that allows it.
struct Check {
  std::string expected = {};  // "at least 1"; empty: everything is good
  std::function<bool(double)> number = {};
  std::vector<std::string> names = {};

  Check or_infinite() const;
  // The same with other words: in_half_open(0, 1).saying("at least 0 and below 1, the share …").
  Check saying(std::string words) const;
};
Check at_least(double bound);
Check above(double bound);
Check between(double low, double high);       // both ends are good
Check in_half_open(double low, double high);  // [low, high)
Check in_open(double low, double high);       // (low, high)
Check one_of(std::vector<std::string> names);

// A row as text, for the reference.
struct FieldText {
  std::string name, fallback, expected;
  bool required = false;
};

namespace fields {

bool passes(const Check& check, std::span<const double> numbers, const std::string* text);
[[noreturn]] void fail_value(const std::string& owner, std::string_view name,
                             const std::string& expected, const std::string& got);
[[noreturn]] void fail_unknown(const std::string& owner, std::string_view name,
                               const std::vector<std::string_view>& known);
[[noreturn]] void fail_missing(const std::string& owner, std::string_view name);
[[noreturn]] void fail_type(const std::string& owner, std::string_view name, const Attr& got,
                            const char* expected);
// "kernel_initializer.stddev" and "learning_rate/decay_steps" belong to the fields before the mark.
bool is_inside(std::string_view entry, std::string_view field);

}  // namespace fields

struct FieldOptions {
  Check check = {};
  bool required = false;  // must be in a configuration that is read
};

template <class Options>
class Field {
 public:
  template <class Class, class T>
  Field(std::string_view name, T Class::*member, FieldOptions options = {})
      : name_(name), options_(std::move(options)), type_(FieldType<T>::kName) {
    nested_ = FieldType<T>::kNested;
    write_ = [name, member](const Options& from, Attrs& to) {
      FieldType<T>::write(to, name, from.*member);
    };
    read_ = [name, member](const Attrs& from, Options& to) {
      return FieldType<T>::read(from, name, to.*member);
    };
    text_ = [member](const Options& from) { return FieldType<T>::text(from.*member); };
    good_ = [member, check = options_.check](const Options& from) {
      const T& value = from.*member;
      return fields::passes(check, FieldType<T>::numbers(value), FieldType<T>::word(value));
    };
  }
  template <class Class, class T>
  Field(std::string_view name, T Class::*member, Check check)
      : Field(name, member, FieldOptions{.check = std::move(check)}) {}

  std::string_view name() const { return name_; }
  bool owns(std::string_view entry) const {
    return entry == name_ || (nested_ && fields::is_inside(entry, name_));
  }
  void write(const Options& from, Attrs& to) const { write_(from, to); }
  void check(const std::string& owner, const Options& options) const {
    if (!good_(options)) fields::fail_value(owner, name_, options_.check.expected, text_(options));
  }
  void read(const std::string& owner, const Attrs& from, Options& to) const {
    const Attr* entry = from.find(name_);
    if (entry == nullptr && options_.required) fields::fail_missing(owner, name_);
    if (entry == nullptr) return;
    bool good = false;
    try {
      good = read_(from, to);
    } catch (const ValueError& error) {  // a value that knows more: a misspelt initialiser
      throw ValueError(owner + ": " + name_ + ": " + error.what());
    }
    if (!good) fields::fail_type(owner, name_, *entry, type_);
  }
  FieldText text(const Options& defaults) const {
    return {name_, text_(defaults), options_.check.expected, options_.required};
  }

 private:
  std::string name_;
  FieldOptions options_;
  const char* type_;
  bool nested_ = false;
  std::function<void(const Options&, Attrs&)> write_;
  std::function<bool(const Attrs&, Options&)> read_;
  std::function<std::string(const Options&)> text_;
  std::function<bool(const Options&)> good_;
};

template <class Options>
class Fields {
 public:
  Fields(std::initializer_list<Field<Options>> rows) : rows_(rows) {}

  // These rows, then those: tables that share rows are put together from parts.
  Fields then(const Fields& more) const {
    Fields both = *this;
    both.rows_.insert(both.rows_.end(), more.rows_.begin(), more.rows_.end());
    return both;
  }

  Attrs write(const Options& options) const {
    Attrs attrs;
    for (const Field<Options>& row : rows_) row.write(options, attrs);
    return attrs;
  }

  // Entries named in `also` are the owner's own business. Does not check values.
  void read(const std::string& owner, const Attrs& attrs, Options& options,
            std::span<const std::string_view> also = {}) const {
    for (const auto& [name, value] : attrs.entries())
      if (find(name) == nullptr && std::ranges::find(also, name) == also.end())
        fields::fail_unknown(owner, name, names());
    for (const Field<Options>& row : rows_) row.read(owner, attrs, options);
  }

  // The options that a configuration stands for, checked.
  Options made(const std::string& owner, const Attrs& attrs, Options options = {},
               std::span<const std::string_view> also = {}) const {
    read(owner, attrs, options, also);
    check(owner, options);
    return options;
  }

  void check(const std::string& owner, const Options& options) const {
    for (const Field<Options>& row : rows_) row.check(owner, options);
  }

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> all;
    for (const Field<Options>& row : rows_) all.push_back(row.name());
    return all;
  }

  std::vector<FieldText> text(const Options& defaults = {}) const {
    std::vector<FieldText> all;
    for (const Field<Options>& row : rows_) all.push_back(row.text(defaults));
    return all;
  }

 private:
  const Field<Options>* find(std::string_view entry) const {
    for (const Field<Options>& row : rows_)
      if (row.owns(entry)) return &row;
    return nullptr;
  }

  std::vector<Field<Options>> rows_;
};

}  // namespace stoker
