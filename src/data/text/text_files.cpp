#include "data/text/text_files.h"

#include <array>

#include <fmt/format.h>

namespace stoker::text {

namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "stoker.text";
constexpr int kVersion = 1;

template <size_t N>
using Names = std::array<const char*, N>;
constexpr Names<5> kModes = {"int", "one_hot", "multi_hot", "count", "tf_idf"};
constexpr Names<2> kMethods = {"floormod", "farmhash"};
constexpr Names<4> kStandardize = {"lower_and_strip_punctuation", "lower", "strip_punctuation",
                                   "none"};
constexpr Names<3> kSplit = {"whitespace", "character", "none"};

template <class Enum, size_t N>
const char* written(Enum value, const Names<N>& names) {
  return names[size_t(value)];
}
template <class Enum, size_t N>
Enum read_enum(const JsonReader& reader, const char* name, const Names<N>& names, Enum fallback) {
  if (!reader.has(name)) return fallback;
  std::string given = reader.text(name);
  for (size_t at = 0; at < N; ++at)
    if (given == names[at]) return Enum(at);
  reader.refuse(name, fmt::format("one of {}", fmt::join(names, ", ")));
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string token_from(const JsonReader& reader, const char* name, const std::string& fallback) {
  return reader.text(name, fallback);
}
int64_t token_from(const JsonReader& reader, const char* name, int64_t fallback) {
  return reader.whole(name, fallback);
}
std::string token_in(const Json& value, size_t index, std::type_identity<std::string>) {
  return text_in(value, "vocabulary", index);
}
int64_t token_in(const Json& value, size_t index, std::type_identity<int64_t>) {
  return whole_in(value, "vocabulary", index);
}

template <class Token>
LookupOptions<Token> read_lookup_options(const JsonReader& reader) {
  LookupOptions<Token> options;
  options.max_tokens = reader.optional_whole("max_tokens");
  options.num_oov_indices = reader.whole("num_oov_indices", options.num_oov_indices);
  if (reader.has("mask_token")) options.mask_token = token_from(reader, "mask_token", Token());
  options.oov_token = token_from(reader, "oov_token", options.oov_token);
  options.invert = reader.flag("invert", options.invert);
  options.output_mode = read_enum(reader, "output_mode", kModes, options.output_mode);
  options.pad_to_max_tokens = reader.flag("pad_to_max_tokens", options.pad_to_max_tokens);
  options.oov_method = read_enum(reader, "oov_method", kMethods, options.oov_method);
  if (reader.has("salt")) {
    const Json& salt = reader.list("salt");
    if (salt.size() != 2) reader.refuse("salt", "a list of two numbers");
    options.salt = {uint64_t(whole_in(salt[0], "salt", 0)), uint64_t(whole_in(salt[1], "salt", 1))};
  }
  return options;
}

TextVectorizationOptions read_vectorization_options(const JsonReader& reader) {
  TextVectorizationOptions options;
  options.max_tokens = reader.optional_whole("max_tokens");
  options.standardize = read_enum(reader, "standardize", kStandardize, Standardize::none);
  options.split = read_enum(reader, "split", kSplit, Split::none);
  if (reader.has("ngrams")) {
    std::vector<int64_t> widths;
    for (const Json& width : reader.list("ngrams"))
      widths.push_back(whole_in(width, "ngrams", widths.size()));
    options.ngrams = Ngrams(std::move(widths));
  }
  options.output_mode = read_enum(reader, "output_mode", kModes, options.output_mode);
  options.output_sequence_length = reader.optional_whole("output_sequence_length");
  options.pad_to_max_tokens = reader.flag("pad_to_max_tokens", false);
  return options;
}

template <class Token>
std::shared_ptr<const Vocabulary<Token>> read_vocabulary(const JsonReader& document,
                                                         const char* kind,
                                                         const LookupOptions<Token>& options) {
  check_options(kind, options);
  std::vector<Token> tokens;
  for (const Json& token : document.list("vocabulary"))
    tokens.push_back(token_in(token, tokens.size(), std::type_identity<Token>()));
  std::vector<float> weights;
  if (document.has("idf_weights"))
    for (const Json& weight : document.list("idf_weights"))
      weights.push_back(float(number_in(weight, "idf_weights", weights.size())));
  return std::make_shared<Vocabulary<Token>>(kind, options, std::move(tokens), std::move(weights));
}

// The document, which has to be of this kind.
Json checked_document(std::string_view text, const char* kind) {
  Json json = parse_json(text);
  JsonReader document(json, "");
  if (document.text("format") != kFormat) document.refuse("format", kFormat);
  if (document.whole("version") != kVersion)
    document.refuse("version", fmt::format("{}, the one that this program reads", kVersion));
  if (document.text("kind") != kind) document.refuse("kind", kind);
  return json;
}

}  // namespace

template <class Token>
Json options_to_json(const LookupOptions<Token>& options) {
  Json json = {{"max_tokens", or_null(options.max_tokens)},
               {"num_oov_indices", options.num_oov_indices},
               {"mask_token", or_null(options.mask_token)},
               {"oov_token", options.oov_token},
               {"invert", options.invert},
               {"output_mode", written(options.output_mode, kModes)},
               {"pad_to_max_tokens", options.pad_to_max_tokens},
               {"oov_method", written(options.oov_method, kMethods)}};
  if (options.salt) json["salt"] = {int64_t(options.salt->first), int64_t(options.salt->second)};
  return json;
}

Json options_to_json(const TextVectorizationOptions& options) {
  const auto* standardize = std::get_if<Standardize>(&options.standardize);
  const auto* split = std::get_if<Split>(&options.split);
  if (standardize == nullptr || split == nullptr)
    throw ValueError(fmt::format(
        "TextVectorization: {} is a C++ function, which cannot be written to a file; save the "
        "vocabulary (get_vocabulary) and set it on a new one",
        standardize == nullptr ? "standardize" : "split"));
  return {{"max_tokens", or_null(options.max_tokens)},
          {"standardize", written(*standardize, kStandardize)},
          {"split", written(*split, kSplit)},
          {"ngrams", options.ngrams.widths()},
          {"output_mode", written(options.output_mode, kModes)},
          {"output_sequence_length", or_null(options.output_sequence_length)},
          {"pad_to_max_tokens", options.pad_to_max_tokens}};
}

template <class Token>
std::string lookup_to_json(const char* kind, Json options, const Vocabulary<Token>& vocabulary) {
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"kind", kind},
               {"options", std::move(options)},
               {"vocabulary", vocabulary.tokens()}};
  if (!vocabulary.weights().empty()) json["idf_weights"] = vocabulary.weights();
  return dump_json(json) + "\n";
}

StringLookupOptions lookup_options(const TextVectorizationOptions& options) {
  return {.max_tokens = options.max_tokens,
          .mask_token = "",
          .idf_weights = options.idf_weights,
          .output_mode = options.output_mode,
          .pad_to_max_tokens = options.pad_to_max_tokens};
}

template <class Token>
Loaded<LookupOptions<Token>, Token> lookup_from_json(std::string_view text, const char* kind) {
  Json json = checked_document(text, kind);
  JsonReader document(json, "");
  LookupOptions<Token> options = read_lookup_options<Token>(document.object("options"));
  auto vocabulary = read_vocabulary(document, kind, options);
  return {std::move(options), std::move(vocabulary)};
}

Loaded<TextVectorizationOptions, std::string> vectorization_from_json(std::string_view text) {
  constexpr const char* kKind = "TextVectorization";
  Json json = checked_document(text, kKind);
  JsonReader document(json, "");
  TextVectorizationOptions options = read_vectorization_options(document.object("options"));
  return {options, read_vocabulary(document, kKind, lookup_options(options))};
}

template Json options_to_json(const LookupOptions<std::string>&);
template Json options_to_json(const LookupOptions<int64_t>&);
template std::string lookup_to_json(const char*, Json, const Vocabulary<std::string>&);
template std::string lookup_to_json(const char*, Json, const Vocabulary<int64_t>&);
template Loaded<LookupOptions<std::string>, std::string> lookup_from_json(std::string_view,
                                                                          const char*);
template Loaded<LookupOptions<int64_t>, int64_t> lookup_from_json(std::string_view, const char*);

}  // namespace stoker::text
