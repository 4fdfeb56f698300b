#include <stoker/tokenizer.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/file.h"
#include "base/utf8.h"
#include "data/text/step.h"
#include "data/text/text_files.h"
#include "data/text/token_table.h"
#include "data/text/tokenizer/added_tokens.h"
#include "data/text/tokenizer/decoder.h"
#include "data/text/tokenizer/fitting.h"
#include "data/text/tokenizer/post_processor.h"
#include "data/text/tokenizer/pre_tokenizer.h"
#include "data/text/tokenizer/token_model.h"

namespace stoker::text {

namespace {

// Null where the document has no such entry.
const nlohmann::json& part_of(const nlohmann::json& json, const char* name) {
  static const nlohmann::json null;
  auto found = json.find(name);
  return found == json.end() ? null : *found;
}

void check_utf8(std::string_view text) {
  size_t valid = valid_utf8_bytes(text);
  if (valid < text.size())
    throw ValueError(
        fmt::format("Tokenizer: byte {} of the text is 0x{:02x}, which is not UTF-8 there", valid,
                    uint8_t(text[valid])));
}

}  // namespace

struct Tokenizer::State {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::shared_ptr<const TokenModel> model;
  AddedTokens added;
  Template around;
  Decoder decoder;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
  uint64_t checksum = 0;

  explicit State(const nlohmann::json& json) {
    JsonReader document(json, "");
    normalizer = make_normalizer(part_of(json, "normalizer"), "normalizer");
    pre_tokenizer = make_pre_tokenizer(part_of(json, "pre_tokenizer"), "pre_tokenizer");
    model = make_model(document.at("model"));
    added = AddedTokens(part_of(json, "added_tokens"), normalizer);
    around = make_template(part_of(json, "post_processor"), "post_processor");
    decoder = make_decoder(part_of(json, "decoder"), "decoder");
    truncation = read_truncation(part_of(json, "truncation"));
    padding = read_padding(part_of(json, "padding"));
  }

  // Tokens of one text, without those around it.
  std::vector<int64_t> tokens_of(std::string_view text) const {
    check_utf8(text);
    std::vector<Segment> raw;
    added.cut(text, false, raw);
    std::vector<int64_t> ids;
    bool first = true;
    for (const Segment& segment : raw) {
      if (segment.id >= 0)
        ids.push_back(segment.id);
      else
        add_text(segment.text, first, ids);
      first = false;
    }
    return ids;
  }

  const std::string* token_of(int64_t id) const {
    if (const AddedToken* token = added.find(id)) return &token->shown;
    return model->token_of(id);
  }

  // The texts with the special tokens; truncated before, not padded.
  Encoding put_together(std::vector<int64_t> text, std::optional<std::vector<int64_t>> pair,
                        const EncodeOptions& options) const {
    static const Template kPlain = make_template(nullptr, "");
    const Template& parts = options.add_special_tokens ? around : kPlain;
    if (truncation)
      truncate(text, pair ? &*pair : nullptr, *truncation, parts.added(pair.has_value()));
    Encoding encoding;
    for (const TemplatePart& part : pair ? parts.pair : parts.single) {
      const std::vector<int64_t>& ids = part.sequence < 0    ? part.ids
                                        : part.sequence == 0 ? text
                                                             : *pair;
      for (int64_t id : ids) {
        const std::string* token = token_of(id);
        encoding.ids.push_back(id);
        encoding.tokens.push_back(token == nullptr ? "" : *token);
      }
      encoding.type_ids.resize(encoding.ids.size(), part.type_id);
      encoding.special_tokens_mask.resize(encoding.ids.size(), part.sequence < 0 ? 1 : 0);
    }
    encoding.attention_mask.resize(encoding.ids.size(), 1);
    return encoding;
  }

 private:
  void add_text(std::string_view text, bool first, std::vector<int64_t>& ids) const {
    std::string normal = normalizer ? normalizer(std::string(text)) : std::string(text);
    std::vector<Segment> segments;
    added.cut(normal, true, segments);
    for (const Segment& segment : segments) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
      } else {
        Pieces pieces = {{std::string(segment.text), first}};
        if (pre_tokenizer) pre_tokenizer(pieces);
        for (const Piece& piece : pieces) model->add_tokens(piece.text, ids);
      }
      first = false;
    }
  }
};

namespace {

// The ids of texts.
class TokenizeStep final : public Step {
 public:
  TokenizeStep(Tokenizer tokenizer, std::string identity)
      : tokenizer_(std::move(tokenizer)), identity_(std::move(identity)) {}
  std::string name() const override { return "Tokenizer"; }
  std::string identity() const override { return identity_; }

  TensorSpec infer(const TensorSpec& in) const override {
    if (in.dtype != DType::bytes || in.shape.rank() > 1)
      throw ShapeError(fmt::format(
          "Tokenizer: got {}; expected a text, bytes[], or a list of texts", to_string(in)));
    if (in.shape.rank() == 1 && !tokenizer_.padding())
      throw ShapeError(
          fmt::format("Tokenizer: got {}, whose texts have different lengths; use with_padding, or "
                      "map it before "
                      "padded_batch",
                      to_string(in)));
    return {DType::int64,
            with_length(in.shape, fixed_length(tokenizer_.truncation(), tokenizer_.padding()))};
  }
  void run(const ConstTensorView& in, Place& out) const override {
    auto texts = in.values<std::string>();
    std::vector<Encoding> all =
        tokenizer_.encode_batch(std::vector<std::string>(texts.begin(), texts.end()));
    int64_t length = all.empty() ? 0 : int64_t(all[0].ids.size());
    auto* to = static_cast<int64_t*>(out.put(DType::int64, with_length(in.shape, length)));
    for (const Encoding& encoding : all) {
      if (int64_t(encoding.ids.size()) != length)
        throw ShapeError(fmt::format("Tokenizer: texts of {} and {} tokens in one batch", length,
                                     encoding.ids.size()));
      to = std::copy(encoding.ids.begin(), encoding.ids.end(), to);
    }
  }

 private:
  static Shape with_length(const Shape& texts, int64_t length) {
    return texts.rank() == 0 ? Shape({length}) : Shape({texts[0], length});
  }
  Tokenizer tokenizer_;
  std::string identity_;
};

}  // namespace

Tokenizer Tokenizer::from_json(std::string_view text) {
  auto state = std::make_shared<State>(parse_json(text));
  state->checksum = token_hash(text);
  return Tokenizer(std::move(state));
}

Tokenizer Tokenizer::load(const std::string& path) {
  return read_text_file(path, [](std::string_view text) { return from_json(text); });
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<Encoding> one = {state_->put_together(state_->tokens_of(text), {}, options)};
  if (state_->padding) pad(one, *state_->padding);
  return std::move(one[0]);
}

Encoding Tokenizer::encode(std::string_view text, std::string_view pair,
                           const EncodeOptions& options) const {
  std::vector<Encoding> one = {
      state_->put_together(state_->tokens_of(text), state_->tokens_of(pair), options)};
  if (state_->padding) pad(one, *state_->padding);
  return std::move(one[0]);
}

std::vector<Encoding> Tokenizer::encode_batch(const std::vector<std::string>& texts,
                                              const EncodeOptions& options) const {
  std::vector<Encoding> all;
  all.reserve(texts.size());
  for (const std::string& text : texts)
    all.push_back(state_->put_together(state_->tokens_of(text), {}, options));
  if (state_->padding) pad(all, *state_->padding);
  return all;
}

std::string Tokenizer::decode(std::span<const int64_t> ids, const DecodeOptions& options) const {
  TokenTexts tokens;
  for (int64_t id : ids) {
    const AddedToken* added = state_->added.find(id);
    if (options.skip_special_tokens && added != nullptr && added->special) continue;
    if (const std::string* token = state_->token_of(id)) tokens.push_back(*token);
  }
  state_->decoder(tokens);
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

std::vector<std::string> Tokenizer::decode_batch(const std::vector<std::vector<int64_t>>& ids,
                                                 const DecodeOptions& options) const {
  std::vector<std::string> texts;
  for (const auto& each : ids) texts.push_back(decode(each, options));
  return texts;
}

int64_t Tokenizer::vocabulary_size() const {
  return std::max(state_->model->end(), state_->added.end());
}

std::optional<int64_t> Tokenizer::token_to_id(std::string_view token) const {
  if (const AddedToken* added = state_->added.find(token)) return added->id;
  int64_t id = state_->model->id_of(token);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<std::string> Tokenizer::id_to_token(int64_t id) const {
  const std::string* token = state_->token_of(id);
  return token == nullptr ? std::nullopt : std::optional(*token);
}

Tokenizer Tokenizer::with_truncation(const std::optional<Truncation>& truncation) const {
  if (truncation) check_truncation(*truncation);
  auto state = std::make_shared<State>(*state_);
  state->truncation = truncation;
  return Tokenizer(std::move(state));
}

Tokenizer Tokenizer::with_padding(const std::optional<Padding>& padding) const {
  if (padding) check_padding(*padding);
  auto state = std::make_shared<State>(*state_);
  state->padding = padding;
  return Tokenizer(std::move(state));
}

const std::optional<Truncation>& Tokenizer::truncation() const { return state_->truncation; }
const std::optional<Padding>& Tokenizer::padding() const { return state_->padding; }

data::FunctionRef Tokenizer::on(size_t component) const {
  std::string identity = fmt::format("Tokenizer {:016x}{}{}", state_->checksum,
                                     described(state_->truncation), described(state_->padding));
  return as_function(std::make_shared<TokenizeStep>(*this, std::move(identity)), component);
}

}  // namespace stoker::text
