#include "nn/field_types.h"

#include <fmt/format.h>

namespace stoker {

bool FieldType<Size2>::read(const Attrs& attrs, std::string_view name, Size2& value) {
  Ints values;
  if (!fields::read_ints(fields::entry(attrs, name), values)) return false;
  if (values.empty() || values.size() > 2) return false;
  value = {values.front(), values.back()};
  return true;
}

std::string FieldType<Size2>::text(Size2 value) {
  return fmt::format("{{{}, {}}}", value.height, value.width);
}

bool FieldType<Edges2>::read(const Attrs& attrs, std::string_view name, Edges2& value) {
  Ints values;
  if (!fields::read_ints(fields::entry(attrs, name), values) || values.size() != 4) return false;
  value = {{values[0], values[1]}, {values[2], values[3]}};
  return true;
}

std::string FieldType<Edges2>::text(const Edges2& value) {
  return fmt::format("{{{{{}, {}}}, {{{}, {}}}}}", value.top, value.bottom, value.left,
                     value.right);
}

bool FieldType<Edges1>::read(const Attrs& attrs, std::string_view name, Edges1& value) {
  Ints values;
  if (!fields::read_ints(fields::entry(attrs, name), values)) return false;
  if (values.empty() || values.size() > 2) return false;
  value = {values.front(), values.back()};
  return true;
}

std::string FieldType<Edges1>::text(const Edges1& value) {
  return fmt::format("{{{}, {}}}", value.left, value.right);
}

bool FieldType<ActivationFunction>::read(const Attrs& attrs, std::string_view name,
                                         ActivationFunction& value) {
  std::string given;
  if (!FieldType<std::string>::read(attrs, name, given)) return false;
  value = given;
  return true;
}

void FieldType<Initializer>::write(Attrs& attrs, std::string_view name, const Initializer& value) {
  attrs.set(name, value.kind());
  fields::put_nested(attrs, name, value.config());
}

bool FieldType<Initializer>::read(const Attrs& attrs, std::string_view name, Initializer& value) {
  std::string kind;
  if (!FieldType<std::string>::read(attrs, name, kind)) return false;
  Attrs own = fields::nested(attrs, name);
  value = own.entries().empty() ? Initializer(kind) : Initializer(kind, own);
  return true;
}

void FieldType<Regularizer>::write(Attrs& attrs, std::string_view name, const Regularizer& value) {
  if (!value) return;
  if (value.kind().empty()) return attrs.set(name, Doubles{value.l1(), value.l2()});
  attrs.set(name, value.kind());
  if (value.kind() == Regularizer::kCustom) return;
  fields::put_nested(attrs, name, {{"factor", value.factor()}, {"mode", value.mode()}});
}

bool FieldType<Regularizer>::read(const Attrs& attrs, std::string_view name, Regularizer& value) {
  if (const auto* kind = std::get_if<std::string>(&fields::entry(attrs, name))) {
    Attrs own = fields::nested(attrs, name);
    value = Regularizer(*kind);
    if (value.kind().empty() || own.entries().empty()) return true;
    value = OrthogonalRegularizer(own.get_or("factor", value.factor()),
                                  own.get_or("mode", value.mode()));
    return true;
  }
  Doubles factors;
  if (!FieldType<Doubles>::read(attrs, name, factors)) return false;
  if (factors.empty()) value = {};
  if (factors.size() == 2) value = {factors[0], factors[1]};
  return factors.empty() || factors.size() == 2;
}

void FieldType<Constraint>::write(Attrs& attrs, std::string_view name, const Constraint& value) {
  if (!value) return;
  attrs.set(name, value.kind());
  fields::put_nested(attrs, name, value.config());
}

bool FieldType<Constraint>::read(const Attrs& attrs, std::string_view name, Constraint& value) {
  std::string kind;
  if (!FieldType<std::string>::read(attrs, name, kind)) return false;
  Attrs own = fields::nested(attrs, name);
  value = own.entries().empty() ? Constraint(kind) : Constraint(kind, own);
  return true;
}

std::string FieldType<Regularizer>::text(const Regularizer& value) {
  if (!value) return "none";
  if (!value.kind().empty()) return value.kind();
  return fmt::format("L1L2({}, {})", value.l1(), value.l2());
}

}  // namespace stoker
