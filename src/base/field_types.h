// How values stand in a configuration (Attrs) and in messages. FieldType<T> has
//   kName     what it is called in an error: "a number"
//   kNested   whether it also has entries of its own, "NAME.PART" or "NAME/PART"
//   write     adds the value to attrs; nothing for a value that stands for "none"
//   read      takes it out again where attrs has it; false: the entry is of another kind
//   text      as one would write it in C++: "same", {3, 3}
//   numbers   what a Check looks at, one by one
//   word      the same for text; null where the value is none
// A whole number may stand where a double is meant, and a single one for a list.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <stoker/attrs.h>

namespace stoker {

template <class T>
struct FieldType;

namespace fields {

std::string number_text(double value);  // 1e-07, 0.5, 3
std::string list_text(const std::vector<double>& values);

const Attr& entry(const Attrs& attrs, std::string_view name);  // must be there

// What a type with one entry and no numbers in it need not repeat.
struct PlainField {
  static constexpr bool kNested = false;
  static const std::string* word(const auto&) { return nullptr; }
  static std::vector<double> numbers(const auto&) { return {}; }
};

// Takes the entry as a list of whole numbers; false: it is none.
bool read_ints(const Attr& entry, Ints& values);

// All entries of `inner` as NAME, mark, their own name; and back.
void put_nested(Attrs& attrs, std::string_view name, const Attrs& inner, char mark = '.');
Attrs nested(const Attrs& attrs, std::string_view name, char mark = '.');

}  // namespace fields

template <>
struct FieldType<bool> : fields::PlainField {
  static constexpr const char* kName = "true or false";
  static void write(Attrs& attrs, std::string_view name, bool value) { attrs.set(name, value); }
  static bool read(const Attrs& attrs, std::string_view name, bool& value);
  static std::string text(bool value) { return value ? "true" : "false"; }
};

template <>
struct FieldType<int64_t> : fields::PlainField {
  static constexpr const char* kName = "a whole number";
  static void write(Attrs& attrs, std::string_view name, int64_t value) { attrs.set(name, value); }
  static bool read(const Attrs& attrs, std::string_view name, int64_t& value);
  static std::string text(int64_t value) { return std::to_string(value); }
  static std::vector<double> numbers(int64_t value) { return {double(value)}; }
};

template <>
struct FieldType<int> : fields::PlainField {
  static constexpr const char* kName = "a whole number";
  static void write(Attrs& attrs, std::string_view name, int value) {
    attrs.set(name, int64_t(value));
  }
  static bool read(const Attrs& attrs, std::string_view name, int& value);
  static std::string text(int value) { return std::to_string(value); }
  static std::vector<double> numbers(int value) { return {double(value)}; }
};

template <>
struct FieldType<double> : fields::PlainField {
  static constexpr const char* kName = "a number";
  static void write(Attrs& attrs, std::string_view name, double value) { attrs.set(name, value); }
  static bool read(const Attrs& attrs, std::string_view name, double& value);
  static std::string text(double value) { return fields::number_text(value); }
  static std::vector<double> numbers(double value) { return {value}; }
};

template <>
struct FieldType<std::string> : fields::PlainField {
  static constexpr const char* kName = "a text";
  static void write(Attrs& attrs, std::string_view name, const std::string& value) {
    attrs.set(name, value);
  }
  static bool read(const Attrs& attrs, std::string_view name, std::string& value);
  static std::string text(const std::string& value) { return '"' + value + '"'; }
  static const std::string* word(const std::string& value) { return &value; }
};

template <>
struct FieldType<Ints> : fields::PlainField {
  static constexpr const char* kName = "a list of whole numbers";
  static void write(Attrs& attrs, std::string_view name, const Ints& value) {
    attrs.set(name, value);
  }
  static bool read(const Attrs& attrs, std::string_view name, Ints& value) {
    return fields::read_ints(fields::entry(attrs, name), value);
  }
  static std::string text(const Ints& value) { return fields::list_text(numbers(value)); }
  static std::vector<double> numbers(const Ints& value) { return {value.begin(), value.end()}; }
};

template <>
struct FieldType<Doubles> : fields::PlainField {
  static constexpr const char* kName = "a list of numbers";
  static void write(Attrs& attrs, std::string_view name, const Doubles& value) {
    attrs.set(name, value);
  }
  static bool read(const Attrs& attrs, std::string_view name, Doubles& value);
  static std::string text(const Doubles& value) { return fields::list_text(value); }
  static std::vector<double> numbers(const Doubles& value) { return value; }
};

template <>
struct FieldType<Shape> : fields::PlainField {
  static constexpr const char* kName = "a shape";
  static void write(Attrs& attrs, std::string_view name, const Shape& value) {
    attrs.set(name, Ints(value.begin(), value.end()));
  }
  static bool read(const Attrs& attrs, std::string_view name, Shape& value);
  static std::string text(const Shape& value) { return to_string(value); }
};

template <>
struct FieldType<DType> : fields::PlainField {
  static constexpr const char* kName = "the name of a dtype";
  static void write(Attrs& attrs, std::string_view name, DType value) {
    attrs.set(name, std::string(stoker::name(value)));
  }
  static bool read(const Attrs& attrs, std::string_view name, DType& value);
  static std::string text(DType value) { return std::string(stoker::name(value)); }
};

// Empty: no entry.
template <class T>
struct FieldType<std::optional<T>> {
  static constexpr const char* kName = FieldType<T>::kName;
  static constexpr bool kNested = FieldType<T>::kNested;
  static void write(Attrs& attrs, std::string_view name, const std::optional<T>& value) {
    if (value) FieldType<T>::write(attrs, name, *value);
  }
  static bool read(const Attrs& attrs, std::string_view name, std::optional<T>& value) {
    T given = blank();
    if (!FieldType<T>::read(attrs, name, given)) return false;
    value = std::move(given);
    return true;
  }
  static std::string text(const std::optional<T>& value) {
    return value ? FieldType<T>::text(*value) : "none";
  }
  static std::vector<double> numbers(const std::optional<T>& value) {
    return value ? FieldType<T>::numbers(*value) : std::vector<double>();
  }
  static const std::string* word(const std::optional<T>& value) {
    return value ? FieldType<T>::word(*value) : nullptr;
  }

 private:
  // To read into; sizes have no value of their own.
  static T blank() {
    if constexpr (std::is_default_constructible_v<T>)
      return T{};
    else
      return T(0);
  }
};

// FieldType<T> for a T of which only the address is known.
struct ValueType {
  const char* name;
  bool nested;
  void (*write)(Attrs& attrs, std::string_view name, const void* value);
  bool (*read)(const Attrs& attrs, std::string_view name, void* value);
  std::string (*text)(const void* value);
  std::vector<double> (*numbers)(const void* value);
  const std::string* (*word)(const void* value);
};

template <class T>
const ValueType& value_type() {
  using Type = FieldType<T>;
  static constexpr ValueType kType = {
      Type::kName,
      Type::kNested,
      [](Attrs& attrs, std::string_view name, const void* value) {
        Type::write(attrs, name, *static_cast<const T*>(value));
      },
      [](const Attrs& attrs, std::string_view name, void* value) {
        return Type::read(attrs, name, *static_cast<T*>(value));
      },
      [](const void* value) { return Type::text(*static_cast<const T*>(value)); },
      [](const void* value) { return Type::numbers(*static_cast<const T*>(value)); },
      [](const void* value) { return Type::word(*static_cast<const T*>(value)); }};
  return kType;
}

// An enumeration stands as the name of its value: derive FieldType<E> from
// EnumField<FieldType<E>, E> and give it kNames, in the order of the values.
template <class Self, class E>
struct EnumField : fields::PlainField {
  static constexpr const char* kName = "one of its names";
  static std::string text(E value) { return std::string(Self::kNames[size_t(value)]); }
  static void write(Attrs& attrs, std::string_view name, E value) { attrs.set(name, text(value)); }
  static bool read(const Attrs& attrs, std::string_view name, E& value) {
    const auto* given = std::get_if<std::string>(&fields::entry(attrs, name));
    if (given == nullptr) return false;
    auto found = std::ranges::find(Self::kNames, std::string_view(*given));
    if (found == std::end(Self::kNames)) return false;
    value = E(found - std::begin(Self::kNames));
    return true;
  }
};

}  // namespace stoker
