#include "data/text/tokenizer/token_model.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>

#include "data/text/token_table.h"

namespace stoker::text {

namespace {

constexpr int64_t kLargestId = int64_t(1) << 24;

}  // namespace

struct TokenIds::Impl {
  TokenTable<std::string> table;
  std::vector<int64_t> ids;        // of the table's tokens
  std::vector<int32_t> positions;  // by id; -1: a gap
  size_t longest = 0;
};

TokenIds::TokenIds(const JsonReader& model) {
  const nlohmann::json& vocabulary = model.at("vocab");
  if (!vocabulary.is_object()) model.refuse("vocab", "an object of tokens and their ids");
  auto impl = std::make_shared<Impl>();
  std::vector<std::string> tokens;
  for (const auto& [token, id] : vocabulary.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > uint64_t(kLargestId))
      throw ValueError(fmt::format("{}: the id of \"{}\" is no number from 0 to {}",
                                   model.where("vocab"), token, kLargestId));
    auto number = id.get<int64_t>();
    if (number >= int64_t(impl->positions.size())) impl->positions.resize(size_t(number) + 1, -1);
    if (impl->positions[size_t(number)] >= 0)
      throw ValueError(fmt::format("{}: two tokens have the id {}", model.where("vocab"), number));
    impl->positions[size_t(number)] = int32_t(tokens.size());
    impl->ids.push_back(number);
    impl->longest = std::max(impl->longest, token.size());
    tokens.push_back(token);
  }
  impl->table = TokenTable<std::string>(std::move(tokens));
  impl_ = std::move(impl);
}

int64_t TokenIds::id_of(std::string_view token) const {
  int64_t found = impl_->table.find(token);
  return found < 0 ? -1 : impl_->ids[size_t(found)];
}

const std::string* TokenIds::token_of(int64_t id) const {
  if (id < 0 || id >= int64_t(impl_->positions.size())) return nullptr;
  int32_t position = impl_->positions[size_t(id)];
  return position < 0 ? nullptr : &impl_->table.tokens()[size_t(position)];
}

size_t TokenIds::longest() const { return impl_->longest; }

int64_t TokenIds::end() const { return int64_t(impl_->positions.size()); }

std::unique_ptr<const TokenModel> make_model(const nlohmann::json& json) {
  JsonReader reader(json, "model");
  std::string type = reader.text("type", reader.has("merges") ? "BPE" : "WordPiece");
  if (type == "BPE") return make_bpe(reader);
  if (type == "WordPiece") return make_wordpiece(reader);
  throw ValueError(
      fmt::format("model is \"{}\", which is not supported; expected BPE or WordPiece", type));
}

}  // namespace stoker::text
