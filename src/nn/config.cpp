#include "nn/config.h"

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker::config {

void put(Attrs& attrs, std::string_view name, const Initializer& initializer) {
  attrs.set(name, initializer.kind());
  put_nested(attrs, name, initializer.config());
}

void put(Attrs& attrs, std::string_view name, const Regularizer& regularizer) {
  if (regularizer) attrs.set(name, Doubles{regularizer.l1(), regularizer.l2()});
}

void put(Attrs& attrs, std::string_view name, Size2 size) {
  attrs.set(name, Ints{size.height, size.width});
}

void put(Attrs& attrs, std::string_view name, const Edges2& edges) {
  attrs.set(name, Ints{edges.top, edges.bottom, edges.left, edges.right});
}

void put_nested(Attrs& attrs, std::string_view prefix, const Attrs& inner) {
  for (const auto& [name, value] : inner.entries())
    attrs.set(fmt::format("{}.{}", prefix, name), value);
}

Attrs nested(const Attrs& attrs, std::string_view prefix) {
  Attrs inner;
  for (const auto& [name, value] : attrs.entries())
    if (name.size() > prefix.size() && name.starts_with(prefix) && name[prefix.size()] == '.')
      inner.set(std::string_view(name).substr(prefix.size() + 1), value);
  return inner;
}

Initializer initializer(const Attrs& attrs, std::string_view name, const Initializer& fallback) {
  if (!attrs.has(name)) return fallback;
  Attrs own = nested(attrs, name);
  const auto& kind = attrs.get<std::string>(name);
  return own.entries().empty() ? Initializer(kind) : Initializer(kind, own);
}

Regularizer regularizer(const Attrs& attrs, std::string_view name) {
  Doubles factors = numbers(attrs, name);
  if (factors.empty()) return {};
  if (factors.size() != 2)
    throw ValueError(
        fmt::format("{}: expected two factors, l1 and l2, got {}", name, factors.size()));
  return {factors[0], factors[1]};
}

ActivationFunction activation(const Attrs& attrs) {
  return attrs.get_or<std::string>("activation", "linear");
}

Size2 size(const Attrs& attrs, std::string_view name, Size2 fallback) {
  if (!attrs.has(name)) return fallback;
  Ints values = integers(attrs, name);
  if (values.size() == 1) return values[0];
  if (values.size() == 2) return {values[0], values[1]};
  throw ValueError(
      fmt::format("{}: expected height and width, got {} values", name, values.size()));
}

Edges2 edges(const Attrs& attrs, std::string_view name, const Edges2& fallback) {
  if (!attrs.has(name)) return fallback;
  Ints values = integers(attrs, name);
  if (values.size() != 4)
    throw ValueError(fmt::format("{}: expected top, bottom, left and right, got {} values", name,
                                 values.size()));
  return {{values[0], values[1]}, {values[2], values[3]}};
}

double number(const Attrs& attrs, std::string_view name, double fallback) {
  const Attr* attr = attrs.find(name);
  if (attr == nullptr) return fallback;
  if (const auto* whole = std::get_if<int64_t>(attr)) return double(*whole);
  return attrs.get<double>(name);
}

Doubles numbers(const Attrs& attrs, std::string_view name) {
  const Attr* attr = attrs.find(name);
  if (attr == nullptr) return {};
  if (const auto* whole = std::get_if<Ints>(attr)) return {whole->begin(), whole->end()};
  return attrs.get<Doubles>(name);
}

std::string text(const Attrs& attrs, std::string_view name, const std::string& fallback) {
  return attrs.get_or<std::string>(name, fallback);
}

int64_t integer(const Attrs& attrs, std::string_view name) { return attrs.get<int64_t>(name); }

Ints integers(const Attrs& attrs, std::string_view name) {
  const Attr* attr = attrs.find(name);
  if (attr == nullptr) return {};
  if (const auto* one = std::get_if<int64_t>(attr)) return {*one};
  if (const auto* empty = std::get_if<Doubles>(attr); empty != nullptr && empty->empty()) return {};
  return attrs.get<Ints>(name);
}

}  // namespace stoker::config
