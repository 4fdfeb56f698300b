// Tokenisers of pretrained language models: byte-pair encoding and WordPiece, as Hugging Face's
// tokenizer.json describes them. They give the same ids as the package that wrote the file.
//
//   text::Tokenizer tokenizer = text::Tokenizer::load("tokenizer.json");
//   std::vector<int64_t> ids = tokenizer.encode("Deep waters").ids;
//   auto train = data::text_lines("book.txt").map(tokenizer.with_truncation({{.max_length = 128}}));
//
// Of a file the models BPE and WordPiece are read, with the normalizers, pre_tokenizers,
// post_processors and decoders that GPT-2, Llama, Qwen, RoBERTa and BERT use. What is not supported
// is an error when the file is loaded; docs/design/022 lists both.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/element.h>

namespace stoker::text {

// A text as tokens. All lists have the same length.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> type_ids;             // 0: the first text, 1: the second
  std::vector<int64_t> attention_mask;       // 0 where it is padding
  std::vector<int64_t> special_tokens_mask;  // 1 where a special token or padding was added
  std::vector<std::string> tokens;           // as in the vocabulary
};

enum class Side : uint8_t { left, right };
enum class TruncationStrategy : uint8_t { longest_first, only_first, only_second };

struct Truncation {
  int64_t max_length = 512;  // with the special tokens
  TruncationStrategy strategy = TruncationStrategy::longest_first;
  Side direction = Side::right;
};
struct Padding {
  std::optional<int64_t> length = {};  // none: to the longest of a batch
  Side direction = Side::right;
  int64_t pad_to_multiple_of = 0;  // 0: not
  int64_t pad_id = 0;
  int64_t pad_type_id = 0;
  std::string pad_token = "[PAD]";
};
struct EncodeOptions {
  bool add_special_tokens = true;
};
struct DecodeOptions {
  bool skip_special_tokens = true;
};

// Immutable, cheap to copy; from any thread.
class Tokenizer {
 public:
  // A file is not trusted: whatever is in it, loading ends in a tokeniser or in a FileError.
  static Tokenizer load(const std::string& path);
  static Tokenizer from_json(std::string_view json);  // ValueError

  // Texts are UTF-8: ValueError otherwise.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode(std::string_view text, std::string_view pair,
                  const EncodeOptions& options = {}) const;
  std::vector<Encoding> encode_batch(const std::vector<std::string>& texts,
                                     const EncodeOptions& options = {}) const;
  std::string decode(std::span<const int64_t> ids, const DecodeOptions& options = {}) const;
  std::vector<std::string> decode_batch(const std::vector<std::vector<int64_t>>& ids,
                                        const DecodeOptions& options = {}) const;

  int64_t vocabulary_size() const;  // largest id + 1: the input_dim of an Embedding
  std::optional<int64_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(int64_t id) const;

  // The same tokeniser with another truncation or padding; nullopt: none.
  Tokenizer with_truncation(const std::optional<Truncation>& truncation) const;
  Tokenizer with_padding(const std::optional<Padding>& padding) const;
  const std::optional<Truncation>& truncation() const;
  const std::optional<Padding>& padding() const;

  // As a step of Dataset::map: bytes[] to int64[length], or bytes[n] to int64[n, length], which needs
  // padding. On component 0 or another; the others stay.
  operator data::FunctionRef() const { return on(0); }
  data::FunctionRef on(size_t component) const;

 private:
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace stoker::text
