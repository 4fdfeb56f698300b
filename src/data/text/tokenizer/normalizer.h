// What a tokeniser does to text before it is split: the "normalizer" of a tokenizer.json.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

namespace stoker::text {

using Normalizer = std::function<std::string(const std::string& text)>;

// Of null: the text as it is. ValueError names a kind that is not known.
Normalizer make_normalizer(const nlohmann::json& json, const std::string& where);

// ValueError where steps in a row have made far more of a text than it was: a file could ask for a
// doubling a hundred times.
void check_growth(size_t before, size_t now, const std::string& where);

// Every `from` in text by `to`; an empty `from` is nowhere.
std::string replaced(const std::string& text, const std::string& from, const std::string& to);

}  // namespace stoker::text
