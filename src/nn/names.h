// Names in Keras's two spellings.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace stoker {

// "BatchNormalization" → "batch_normalization", "Conv2D" → "conv2d", "PReLU" → "p_re_lu": what
// Keras calls a layer of this kind that was given no name.
std::string snake_case(std::string_view kind);

// `name`, or name_1, name_2, … when it is taken; takes it.
std::string unique_name(const std::string& name, std::set<std::string>& taken);

// "a, b, c", for errors that list what there is.
std::string list_of(std::span<const std::string_view> names);

}  // namespace stoker
