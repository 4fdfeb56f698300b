// Text steps against what Keras gave (record_keras_text.py).
#include <gtest/gtest.h>
#include <stoker/text.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/utf8.h"
#include "data/elements.h"
#include "data/text/hashes.h"
#include "formats/json.h"

namespace stoker::text {
namespace {

using Json = nlohmann::json;

const Json& keras_text() {
  static const Json json =
      parse_json(read_text(std::string(STOKER_TEST_SOURCE_DIR) + "/data/keras_text.json"));
  return json;
}

// Bytes that stand as Latin-1.
std::string bytes_of(const Json& value) {
  std::string utf8 = value.get<std::string>(), bytes;
  for (std::string_view rest = utf8; !rest.empty();) {
    Utf8Character next = first_character(rest);
    bytes += char(next.code);
    rest.remove_prefix(next.bytes);
  }
  return bytes;
}
std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& value : list) texts.push_back(bytes_of(value));
  return texts;
}
Shape shape_of(const Json& result) { return Shape(result["shape"].get<std::vector<int64_t>>()); }

template <class T>
void set(const Json& options, const char* name, T& to) {
  if (options.contains(name) && !options[name].is_null()) to = options[name].get<T>();
}
template <class T>
void set(const Json& options, const char* name, std::optional<T>& to) {
  if (options.contains(name) && !options[name].is_null()) to = options[name].get<T>();
}
OutputMode mode_of(const Json& options) {
  std::string name = options.value("output_mode", "int");
  return name == "int"         ? OutputMode::int_
         : name == "one_hot"   ? OutputMode::one_hot
         : name == "multi_hot" ? OutputMode::multi_hot
         : name == "count"     ? OutputMode::count
                               : OutputMode::tf_idf;
}

TextVectorizationOptions vectorization_options(const Json& given) {
  TextVectorizationOptions options;
  set(given, "max_tokens", options.max_tokens);
  if (given.contains("standardize"))
    options.standardize = given["standardize"].is_null()    ? Standardize::none
                          : given["standardize"] == "lower" ? Standardize::lower
                                                            : Standardize::strip_punctuation;
  if (given.contains("split"))
    options.split = given["split"].is_null() ? Split::none : Split::character;
  if (given["ngrams"].is_number()) options.ngrams = given["ngrams"].get<int64_t>();
  if (given["ngrams"].is_array())
    options.ngrams = Ngrams(given["ngrams"].get<std::vector<int64_t>>());
  options.output_mode = mode_of(given);
  set(given, "output_sequence_length", options.output_sequence_length);
  set(given, "pad_to_max_tokens", options.pad_to_max_tokens);
  set(given, "vocabulary", options.vocabulary);
  set(given, "idf_weights", options.idf_weights);
  return options;
}

void expect_result(const Tensor& got, const Json& expected, const std::string& which) {
  ASSERT_EQ(got.shape(), shape_of(expected)) << which;
  for (int64_t at = 0; at < got.elements(); ++at) {
    if (got.dtype() == DType::bytes) {
      EXPECT_EQ(got.data<std::string>()[at], bytes_of(expected["values"][size_t(at)])) << which;
    } else {
      double wanted = expected["values"][size_t(at)].get<double>();
      // A mean of float32 weights may be rounded differently.
      EXPECT_NEAR(got.at(at), wanted, 4e-7 * std::abs(wanted)) << which << " at " << at;
    }
  }
}

TEST(KerasText, TextVectorizationLearnsTheSameVocabularyAndGivesTheSameValues) {
  for (const Json& each : keras_text()["vectorizations"]) {
    std::string which = each["options"].dump();
    TextVectorization vectorize(vectorization_options(each["options"]));
    if (vectorize.options().vocabulary.empty()) vectorize.adapt(texts_of(each["adapt"]));
    EXPECT_EQ(vectorize.get_vocabulary({.include_special_tokens = false}),
              texts_of(each["vocabulary"]))
        << which;
    expect_result(vectorize(texts_of(each["call"])), each["result"], which);
    if (each.contains("idf_weights")) {
      auto expected = each["idf_weights"].get<std::vector<double>>();
      std::vector<double> got = vectorize.idf_weights();
      ASSERT_EQ(got.size(), expected.size()) << which;
      for (size_t at = 0; at < got.size(); ++at)
        EXPECT_NEAR(got[at], expected[at], 4e-7 * expected[at]) << which;
    }
  }
}

template <class Token>
LookupOptions<Token> lookup_options_of(const Json& given) {
  LookupOptions<Token> options;
  set(given, "max_tokens", options.max_tokens);
  set(given, "num_oov_indices", options.num_oov_indices);
  set(given, "mask_token", options.mask_token);
  set(given, "vocabulary", options.vocabulary);
  set(given, "invert", options.invert);
  if (given.value("oov_method", "") == "farmhash") options.oov_method = OovMethod::farmhash;
  if (given.contains("salt")) options.salt = {given["salt"][0], given["salt"][1]};
  options.output_mode = mode_of(given);
  return options;
}

Tensor tensor_of(const Json& result) {
  const Json& values = result["values"];
  if (!values[0].is_string())
    return Tensor::from(values.get<std::vector<int64_t>>(), shape_of(result));
  return Tensor::from(texts_of(values), shape_of(result));
}

template <class Token>
void expect_lookup(const Json& each) {
  std::string which = each["kind"].get<std::string>() + each["options"].dump();
  Lookup<Token> lookup(lookup_options_of<Token>(each["options"]));
  if (each.contains("adapt")) lookup.adapt(tensor_of(each["adapt"]));
  Tensor vocabulary = Tensor::from(lookup.get_vocabulary(), {lookup.vocabulary_size()});
  expect_result(vocabulary,
                {{"shape", {each["vocabulary"].size()}}, {"values", each["vocabulary"]}}, which);
  expect_result(lookup(tensor_of(each["call"])), each["result"], which);
}

TEST(KerasText, LookupsGiveTheSameValues) {
  for (const Json& each : keras_text()["lookups"]) {
    if (each["kind"] == "StringLookup")
      expect_lookup<std::string>(each);
    else
      expect_lookup<int64_t>(each);
  }
}

TEST(KerasText, UnknownTokensAreHashedAsTensorFlowDoes) {
  for (const Json& each : keras_text()["farmhash"]) {
    uint64_t hash = farmhash64(each["text"].get<std::string>());
    EXPECT_EQ(hash % (uint64_t(1) << 62), each["bucket"].get<uint64_t>()) << each["text"];
  }
}

TEST(KerasText, TimeseriesWindowsAreTheSame) {
  std::vector<float> rows(40), answers(40);
  for (size_t row = 0; row < 40; ++row) rows[row] = float(row), answers[row] = float(100 + row);
  Tensor series = Tensor::from(rows, {40});
  for (const Json& each : keras_text()["windows"]) {
    const Json& given = each["options"];
    data::TimeseriesOptions options;
    set(given, "sequence_stride", options.sequence_stride);
    set(given, "sampling_rate", options.sampling_rate);
    set(given, "batch_size", options.batch_size);
    set(given, "start_index", options.start_index);
    set(given, "end_index", options.end_index);
    int64_t length = given["sequence_length"];
    data::Dataset windows =
        given.contains("targets")
            ? timeseries_windows(series, Tensor::from(answers, {40}).slice(0, given["targets"]),
                                 length, options)
            : timeseries_windows(series, length, options);
    std::vector<Batch> batches = data::all_of(windows);
    ASSERT_EQ(batches.size(), each["batches"].size()) << given;
    for (size_t at = 0; at < batches.size(); ++at)
      for (size_t part = 0; part < batches[at].size(); ++part)
        expect_result(batches[at][part], each["batches"][at][part], given.dump());
  }
}

}  // namespace
}  // namespace stoker::text
