// Special tokens around texts: the "post_processor" of a tokenizer.json.
#pragma once

#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

namespace stoker::text {

// One part of what is put together: a text, or special tokens.
struct TemplatePart {
  int sequence = -1;  // 0: the first text, 1: the second; -1: special tokens
  std::vector<int64_t> ids = {};
  int64_t type_id = 0;
};
struct Template {
  std::vector<TemplatePart> single, pair;
  int64_t added(bool with_pair) const;  // special tokens
};

// Texts as they are, with type ids 0 and 1, where there is none.
Template make_template(const nlohmann::json& json, const std::string& where);

}  // namespace stoker::text
