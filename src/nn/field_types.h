// The types of layer options as fields (base/field_types.h). Attrs are flat: an initialiser's own
// values stand beside its kind as "kernel_initializer.stddev".
#pragma once

#include <stoker/constraints.h>
#include <stoker/initializers.h>
#include <stoker/layer_options.h>
#include <stoker/regularizers.h>

#include "base/field_types.h"

namespace stoker {

template <>
struct FieldType<Size2> : fields::PlainField {
  static constexpr const char* kName = "a height and a width";
  static void write(Attrs& attrs, std::string_view name, Size2 value) {
    attrs.set(name, Ints{value.height, value.width});
  }
  static bool read(const Attrs& attrs, std::string_view name, Size2& value);
  static std::string text(Size2 value);  // {3, 5}
  static std::vector<double> numbers(Size2 value) {
    return {double(value.height), double(value.width)};
  }
};

template <>
struct FieldType<Edges2> : fields::PlainField {
  static constexpr const char* kName = "top, bottom, left and right";
  static void write(Attrs& attrs, std::string_view name, const Edges2& value) {
    attrs.set(name, Ints{value.top, value.bottom, value.left, value.right});
  }
  static bool read(const Attrs& attrs, std::string_view name, Edges2& value);
  static std::string text(const Edges2& value);  // {{1, 1}, {2, 2}}
  static std::vector<double> numbers(const Edges2& value) {
    return {double(value.top), double(value.bottom), double(value.left), double(value.right)};
  }
};

template <>
struct FieldType<Edges1> : fields::PlainField {
  static constexpr const char* kName = "left and right";
  static void write(Attrs& attrs, std::string_view name, const Edges1& value) {
    attrs.set(name, Ints{value.left, value.right});
  }
  static bool read(const Attrs& attrs, std::string_view name, Edges1& value);
  static std::string text(const Edges1& value);  // {1, 1}
  static std::vector<double> numbers(const Edges1& value) {
    return {double(value.left), double(value.right)};
  }
};

template <>
struct FieldType<Axes> : fields::PlainField {
  static constexpr const char* kName = "one or more axes";
  static void write(Attrs& attrs, std::string_view name, const Axes& value) {
    attrs.set(name, value.list);
  }
  static bool read(const Attrs& attrs, std::string_view name, Axes& value) {
    return fields::read_ints(fields::entry(attrs, name), value.list);
  }
  static std::string text(const Axes& value) { return FieldType<Ints>::text(value.list); }
  static std::vector<double> numbers(const Axes& value) {
    return {value.list.begin(), value.list.end()};
  }
};

template <>
struct FieldType<ActivationFunction> : fields::PlainField {
  static constexpr const char* kName = "the name of an activation";
  static void write(Attrs& attrs, std::string_view name, const ActivationFunction& value) {
    attrs.set(name, value.name());
  }
  static bool read(const Attrs& attrs, std::string_view name, ActivationFunction& value);
  static std::string text(const ActivationFunction& value) { return '"' + value.name() + '"'; }
};

template <>
struct FieldType<Initializer> : fields::PlainField {
  static constexpr const char* kName = "the name of an initializer";
  static constexpr bool kNested = true;
  static void write(Attrs& attrs, std::string_view name, const Initializer& value);
  static bool read(const Attrs& attrs, std::string_view name, Initializer& value);
  static std::string text(const Initializer& value) { return value.kind(); }
};

// None: no entry.
template <>
struct FieldType<Regularizer> : fields::PlainField {
  static constexpr const char* kName = "two factors, l1 and l2, or the name of a regularizer";
  static constexpr bool kNested = true;
  static void write(Attrs& attrs, std::string_view name, const Regularizer& value);
  static bool read(const Attrs& attrs, std::string_view name, Regularizer& value);
  static std::string text(const Regularizer& value);
};

// None: no entry.
template <>
struct FieldType<Constraint> : fields::PlainField {
  static constexpr const char* kName = "the name of a constraint";
  static constexpr bool kNested = true;
  static void write(Attrs& attrs, std::string_view name, const Constraint& value);
  static bool read(const Attrs& attrs, std::string_view name, Constraint& value);
  static std::string text(const Constraint& value) { return value ? value.kind() : "none"; }
};

}  // namespace stoker
