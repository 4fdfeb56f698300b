// Tokens back to text: the "decoder" of a tokenizer.json.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace stoker::text {

using TokenTexts = std::vector<std::string>;
// Changes the tokens; what is left is put together without anything between.
using Decoder = std::function<void(TokenTexts& tokens)>;

// Of null: tokens with spaces between them.
Decoder make_decoder(const nlohmann::json& json, const std::string& where);

}  // namespace stoker::text
