// Names in Keras's two spellings.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// "BatchNormalization" → "batch_normalization", "Conv2D" → "conv2d", "PReLU" → "p_re_lu": what
// Keras calls a layer of this kind that was given no name.
std::string snake_case(std::string_view kind);

// `name`, or name_1, name_2, … when it is taken; takes it.
std::string unique_name(const std::string& name, std::set<std::string>& taken);

// Conv2D "stem", or Conv2D alone: how errors begin.
std::string titled(const std::string& kind, const std::string& name);

// What a loss, metric or initialiser is called.
struct KindNames {
  std::string_view kind, name,
      shorthand = "";  // "BinaryCrossentropy", "binary_crossentropy", "bce", which is "BCE" too
  bool has(std::string_view word) const {
    return word == kind || word == name || (!word.empty() && is_shorthand(word));
  }
  bool is_shorthand(std::string_view word) const;
};

// The kind that has this name; null: there is none.
template <class Kinds>
auto find_kind(const Kinds& kinds, std::string_view word) -> decltype(&kinds.front()) {
  for (const auto& kind : kinds)
    if (kind.names.has(word)) return &kind;
  return nullptr;
}

// Adds the names of all kinds, for errors that list them.
template <class Kinds>
void add_names(std::vector<std::string_view>& words, const Kinds& kinds) {
  for (const auto& kind : kinds) {
    words.push_back(kind.names.name);
    if (!kind.names.shorthand.empty()) words.push_back(kind.names.shorthand);
  }
}

// "a, b, c", for errors that list what there is.
std::string list_of(std::span<const std::string_view> names);

}  // namespace stoker
