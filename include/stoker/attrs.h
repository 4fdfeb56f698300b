// The attributes of an op or the configuration of a layer: a short list of named plain values.
// Data only: it can be compared, printed and written to a file. (Host functions and the graphs of
// loops are the exceptions: they belong to the program and are never written.)
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <stoker/dtype.h>
#include <stoker/shape.h>

namespace stoker {

struct HostFunction;
class Graph;

using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;
using Attr = std::variant<bool, int64_t, double, std::string, Ints, Doubles,
                          std::shared_ptr<const HostFunction>, std::shared_ptr<const Graph>>;

class Attrs {
 public:
  using Entry = std::pair<std::string, Attr>;
  Attrs() = default;
  Attrs(std::initializer_list<Entry> entries) : entries_(entries) {}

  void set(std::string_view name, Attr value);  // adds or replaces
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const Attr* find(std::string_view name) const;

  // The attribute as T; Error naming it when it is absent or of another kind.
  template <class T>
  const T& get(std::string_view name) const {
    const Attr* attr = find(name);
    if (attr == nullptr || !std::holds_alternative<T>(*attr)) fail(name);
    return std::get<T>(*attr);
  }
  template <class T>
  T get_or(std::string_view name, T fallback) const {
    return has(name) ? get<T>(name) : std::move(fallback);
  }

  const std::vector<Entry>& entries() const { return entries_; }
  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  [[noreturn]] void fail(std::string_view name) const;
  std::vector<Entry> entries_;
};

std::string to_string(const Attrs& attrs);  // "{strides: [1, 1], groups: 1}"

}  // namespace stoker
