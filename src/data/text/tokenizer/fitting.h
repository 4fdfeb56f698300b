// Texts to a length: truncation and padding.
#pragma once

#include <stoker/tokenizer.h>
#include <nlohmann/json.hpp>

namespace stoker::text {

// Of null: none. ValueError: an entry that is not what it should be.
std::optional<Truncation> read_truncation(const nlohmann::json& json);
std::optional<Padding> read_padding(const nlohmann::json& json);
void check_truncation(const Truncation& truncation);
void check_padding(const Padding& padding);

// All options, for the identity of a step; empty for none.
std::string described(const std::optional<Truncation>& truncation);
std::string described(const std::optional<Padding>& padding);

// So that the texts and `added` tokens are no longer than max_length. ValueError when the strategy
// forbids it.
void truncate(std::vector<int64_t>& text, std::vector<int64_t>* pair, const Truncation& truncation,
              int64_t added);
void pad(std::vector<Encoding>& batch, const Padding& padding);

// The length of every encoding; -1: they differ.
int64_t fixed_length(const std::optional<Truncation>& truncation,
                     const std::optional<Padding>& padding);

}  // namespace stoker::text
