// Words to tokens: the "model" of a tokenizer.json, BPE or WordPiece. Immutable; from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/text/json_reader.h"

namespace stoker::text {

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  virtual void add_tokens(std::string_view word, std::vector<int64_t>& ids) const = 0;
  virtual int64_t id_of(std::string_view token) const = 0;    // -1: none
  virtual const std::string* token_of(int64_t id) const = 0;  // null: none
  virtual int64_t end() const = 0;                            // behind the largest id
};

// ValueError: another kind, a merge of tokens that are not there, …
std::unique_ptr<const TokenModel> make_model(const nlohmann::json& json);
std::unique_ptr<const TokenModel> make_bpe(const JsonReader& json);
std::unique_ptr<const TokenModel> make_wordpiece(const JsonReader& json);

// Tokens of a vocabulary {"token": id} and back. Ids may have gaps.
class TokenIds {
 public:
  explicit TokenIds(const JsonReader& model);
  int64_t id_of(std::string_view token) const;
  const std::string* token_of(int64_t id) const;
  int64_t end() const;     // behind the largest id
  size_t longest() const;  // bytes of the longest token

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace stoker::text
