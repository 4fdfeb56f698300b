// The enumerators of an enum whose values are 0, 1, 2, …: how many there are and what they are
// called, as the compiler knows them. A table of an enum is checked against it when it is compiled:
//
//   static_assert(names_each<Cause>(kRows, &Row::cause));
//
// GCC and Clang, up to 64 enumerators.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace stoker {

namespace enum_names_detail {

// "… [with auto value = stoker::doctor::Cause::storage]", or "… = (stoker::doctor::Cause)77" where
// no enumerator has this value. Clang writes the same without "with".
template <auto value>
constexpr std::string_view spelled() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("value = ") + 8);
  return text.substr(0, text.find_first_of("];"));
}

template <auto value>
constexpr std::string_view last_name() {
  std::string_view text = spelled<value>();
  if (text.starts_with('(')) return {};
  return text.substr(text.rfind(':') + 1);
}

template <class E, size_t... values>
constexpr auto first_names(std::index_sequence<values...>) {
  return std::array<std::string_view, sizeof...(values)>{last_name<E(values)>()...};
}

template <class E>
inline constexpr auto kFirst = first_names<E>(std::make_index_sequence<64>());

}  // namespace enum_names_detail

template <class E>
constexpr size_t enumerators() {
  size_t count = 0;
  while (count < 64 && !enum_names_detail::kFirst<E>[count].empty()) ++count;
  return count;
}

template <class E>
constexpr std::string_view enumerator_name(E value) {
  return enum_names_detail::kFirst<E>[size_t(value)];
}

// Whether the rows of a table name each enumerator exactly once, in any order.
template <class E, class Rows, class Row>
constexpr bool names_each(const Rows& rows, E Row::*of) {
  std::array<int, enumerators<E>()> seen{};
  for (const Row& row : rows) ++seen[size_t(row.*of)];
  for (int count : seen)
    if (count != 1) return false;
  return true;
}

}  // namespace stoker
