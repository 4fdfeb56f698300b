// Text steps in datasets, in files, and when they are used wrongly.
#include <gtest/gtest.h>
#include <stoker/text.h>
#include <stoker/tokenizer.h>

#include "data/elements.h"
#include "support/temp_dir.h"

namespace stoker::text {
namespace {

using data::all_of;
using data::from_slices;
using data::message_of;
using test::TempDir;
using Texts = std::vector<std::string>;

Tensor texts(const Texts& all) { return Tensor::from(all, {int64_t(all.size())}); }

TEST(TextVectorization, IsAStepBeforeAndAfterBatch) {
  Tensor all = texts({"salt sea", "sea", "wide wide sea"});
  data::Dataset dataset = from_slices({all, Tensor::from({0, 1, 0}, {3})});
  TextVectorization vectorize({.output_sequence_length = 3});
  vectorize.adapt(dataset);
  EXPECT_EQ(vectorize.get_vocabulary(), (Texts{"", "[UNK]", "sea", "wide", "salt"}));
  EXPECT_EQ(vectorize.vocabulary_size(), 5);

  data::Dataset before = dataset.map(vectorize).batch(3), after = dataset.batch(3).map(vectorize);
  EXPECT_EQ(data::to_string(before.spec()), "(int64[3, 3], int32[3])");
  Tensor expected = Tensor::from<int64_t>({4, 2, 0, 2, 0, 0, 3, 3, 2}, {3, 3});
  EXPECT_EQ(all_of(before)[0][0], expected);
  EXPECT_EQ(all_of(after)[0][0], expected);
  EXPECT_EQ(all_of(after)[0][1].at(1), 1);
}

TEST(TextVectorization, WithoutALengthABatchIsAsLongAsItsLongestText) {
  data::Dataset dataset = from_slices(texts({"a b c", "a"}));
  TextVectorization vectorize({.vocabulary = {"a", "b"}});
  EXPECT_EQ(data::to_string(dataset.map(vectorize).spec()), "(int64[None])");
  EXPECT_EQ(all_of(dataset.batch(2).map(vectorize))[0][0],
            Tensor::from<int64_t>({2, 3, 1, 2, 0, 0}, {2, 3}));
  EXPECT_EQ(all_of(dataset.map(vectorize).padded_batch(2))[0][0],
            Tensor::from<int64_t>({2, 3, 1, 2, 0, 0}, {2, 3}));
}

TEST(TextVectorization, IsTheSameAtAnyThreadCount) {
  TempDir dir;
  std::string lines;
  for (int at = 0; at < 2000; ++at)
    lines += "word" + std::to_string(at % 37) + ", Word" + std::to_string(at % 11) + "!\n";
  data::Dataset dataset = data::text_lines(dir.write("a.txt", lines));
  TextVectorization vectorize({.output_sequence_length = 4});
  vectorize.adapt(dataset.batch(100));
  data::Dataset mapped = dataset.shuffle({.seed = 1}).map(vectorize).batch(64);
  data::Iterator once = walk_with(mapped, 1), thrice = walk_with(mapped, 3);
  while (const Batch* batch = once.next()) EXPECT_EQ((*batch)[0], (*thrice.next())[0]);
}

TEST(TextVectorization, TakesOwnFunctions) {
  TextVectorization vectorize(
      {.standardize = [](std::string_view text) { return std::string(text) + ";end"; },
       .split =
           [](std::string_view text) {
             Texts parts;
             for (size_t begin = 0; begin <= text.size();) {
               size_t end = std::min(text.find(';', begin), text.size());
               parts.emplace_back(text.substr(begin, end - begin));
               begin = end + 1;
             }
             return parts;
           }});
  vectorize.adapt(Texts{"a;b", "a"});
  EXPECT_EQ(vectorize.tokens("x;y"), (Texts{"x", "y", "end"}));
  EXPECT_EQ(vectorize.get_vocabulary({.include_special_tokens = false}), (Texts{"end", "a", "b"}));
  TempDir dir;
  EXPECT_NE(message_of([&] { vectorize.save(dir / "v.json"); }).find("C++ function"),
            std::string::npos);
}

TEST(TextVectorization, ComesBackFromAFile) {
  TempDir dir;
  for (OutputMode mode : {OutputMode::int_, OutputMode::count, OutputMode::tf_idf}) {
    TextVectorization vectorize({.max_tokens = 6,
                                 .standardize = Standardize::lower,
                                 .split = Split::character,
                                 .ngrams = {1, 2},
                                 .output_mode = mode,
                                 .pad_to_max_tokens = mode != OutputMode::int_});
    vectorize.adapt(Texts{"Été", "eté", "\"tt\\"});
    vectorize.save(dir / "v.json");
    TextVectorization loaded = TextVectorization::load(dir / "v.json");
    EXPECT_EQ(loaded.get_vocabulary(), vectorize.get_vocabulary());
    EXPECT_EQ(loaded(Texts{"été t"}), vectorize(Texts{"été t"}));
    EXPECT_EQ(loaded.idf_weights(), vectorize.idf_weights());
  }
}

TEST(Lookup, ComesBackFromAFile) {
  TempDir dir;
  StringLookup words({.num_oov_indices = 3, .mask_token = "", .salt = {{1, ~uint64_t(0)}}});
  words.adapt(texts({"b", "a", "b"}));
  words.save(dir / "w.json");
  EXPECT_EQ(StringLookup::load(dir / "w.json")(Texts{"a", "q", "r", ""}),
            words(Texts{"a", "q", "r", ""}));
  IntegerLookup numbers({.vocabulary = {7, -3}, .invert = true});
  numbers.save(dir / "n.json");
  EXPECT_EQ(IntegerLookup::load(dir / "n.json")(std::vector<int64_t>{0, 1, 2, 9}),
            Tensor::from<int64_t>({-1, 7, -3, -1}, {4}));
  EXPECT_THROW(IntegerLookup::load(dir / "w.json"), FileError);
  EXPECT_THROW(StringLookup::load(dir / "none.json"), FileError);
  dir.write("w.json", "{\"format\": \"stoker.text\"");
  EXPECT_NE(message_of([&] { StringLookup::load(dir / "w.json"); }).find("w.json"),
            std::string::npos);
}

TEST(Lookup, ReadsAVocabularyLineByLine) {
  TempDir dir;
  StringLookup words;
  words.set_vocabulary_from_file(dir.write("words.txt", "sea\r\nsalt\n"));
  EXPECT_EQ(words.get_vocabulary(), (Texts{"[UNK]", "sea", "salt"}));
  IntegerLookup numbers;
  numbers.set_vocabulary_from_file(dir.write("numbers.txt", "12\n-3"));
  EXPECT_EQ(numbers.vocabulary_size(), 3);
  std::string path = dir.write("numbers.txt", "12\n3x\n");
  EXPECT_NE(message_of([&] { numbers.set_vocabulary_from_file(path); }).find("line 2"),
            std::string::npos);
}

TEST(Lookup, TakesIntegersOfAnyKind) {
  IntegerLookup numbers({.vocabulary = {10, 20}});
  EXPECT_EQ(numbers(Tensor::from<int32_t>({20, 5}, {1, 2})), Tensor::from<int64_t>({2, 0}, {1, 2}));
  data::Dataset dataset = data::range(10, 30, 10).map(numbers);
  EXPECT_EQ(data::integers(dataset), (data::Integers{1, 2}));
  EXPECT_THROW(numbers(Tensor::from({1.5F}, {1})), ShapeError);
}

TEST(Lookup, RefusesWhatContradictsItself) {
  EXPECT_THROW(StringLookup({.max_tokens = 1}), ValueError);
  EXPECT_THROW(StringLookup({.num_oov_indices = -1}), ValueError);
  EXPECT_THROW(StringLookup({.vocabulary = {"a", "a"}}), ValueError);
  EXPECT_THROW(StringLookup({.mask_token = "m", .vocabulary = {"a", "m"}}), ValueError);
  EXPECT_THROW(StringLookup({.max_tokens = 2, .vocabulary = {"a", "b"}}), ValueError);
  EXPECT_THROW(StringLookup({.pad_to_max_tokens = true}), ValueError);
  EXPECT_THROW(StringLookup({.invert = true, .output_mode = OutputMode::count}), ValueError);
  EXPECT_THROW(StringLookup({.oov_method = OovMethod::floormod}), ValueError);
  EXPECT_THROW(IntegerLookup({.salt = {{1, 2}}}), ValueError);
  EXPECT_THROW(StringLookup({.vocabulary = {"a"}, .output_mode = OutputMode::tf_idf}), ValueError);
  EXPECT_THROW(TextVectorization({.output_mode = OutputMode::one_hot}), ValueError);
  EXPECT_THROW(TextVectorization({.ngrams = {0}}), ValueError);
  EXPECT_THROW(TextVectorization({.output_mode = OutputMode::count, .output_sequence_length = 3}),
               ValueError);
}

TEST(Lookup, SaysWhatIsMissing) {
  StringLookup words;
  EXPECT_NE(message_of([&] { words(Texts{"a"}); }).find("call adapt or set_vocabulary"),
            std::string::npos);
  StringLookup strict({.num_oov_indices = 0, .vocabulary = {"a"}});
  EXPECT_NE(message_of([&] { strict(Texts{"b"}); }).find("\"b\" is not in the vocabulary"),
            std::string::npos);
  EXPECT_THROW(strict.adapt(texts({"a"})), ValueError);
  EXPECT_THROW(words.adapt(from_slices(texts({"a"})).repeat()), ValueError);
  EXPECT_THROW(words.adapt(from_slices(texts({"a"})), {.component = 1}), ValueError);
  EXPECT_THROW(words.adapt(data::range(3)), ShapeError);
  TextVectorization vectorize({.vocabulary = {"a"}});
  EXPECT_NE(message_of([&] { data::range(3).map(vectorize); }).find("expected texts"),
            std::string::npos);
}

constexpr const char* kTiny = R"({
  "added_tokens": [{"id": 6, "content": "<end>", "special": true, "normalized": false}],
  "normalizer": null, "post_processor": null, "decoder": {"type": "ByteLevel"},
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "abab": 5},
            "merges": ["a b", ["Ġ", "ab"], "ab ab"]}})";

std::string with(const std::string& from, const std::string& to) {
  std::string json = kTiny;
  return json.replace(json.find(from), from.size(), to);
}

TEST(Tokenizer, MergesWhatWasLearnedFirstAndComesBack) {
  Tokenizer tokenizer = Tokenizer::from_json(kTiny);
  EXPECT_EQ(tokenizer.encode("abab ab b<end>a").ids, (std::vector<int64_t>{5, 4, 2, 1, 6, 0}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("ab abab<end>").ids), "ab abab");
  EXPECT_EQ(tokenizer.decode(std::vector<int64_t>{3, 6, 99}, {.skip_special_tokens = false}),
            "ab<end>");
  EXPECT_EQ(tokenizer.vocabulary_size(), 7);
  EXPECT_EQ(tokenizer.token_to_id("<end>"), 6);
  EXPECT_EQ(tokenizer.id_to_token(3), "ab");
  EXPECT_EQ(tokenizer.id_to_token(-1), std::nullopt);
  EXPECT_THROW(tokenizer.encode("a\xFF"), ValueError);
}

TEST(Tokenizer, LongWordsTakeNoLongerThanTheirLengthAsksFor) {
  Tokenizer tokenizer = Tokenizer::from_json(kTiny);
  std::string word;
  for (int at = 0; at < 50'000; ++at) word += "ab";
  EXPECT_EQ(tokenizer.encode(word).ids.size(), 25'000U);
}

TEST(Tokenizer, IsAStepOfADataset) {
  Tokenizer tokenizer = Tokenizer::from_json(kTiny);
  data::Dataset dataset = from_slices(texts({"ab", "a b ab"}));
  EXPECT_EQ(data::to_string(dataset.map(tokenizer).spec()), "(int64[None])");
  EXPECT_THROW(dataset.batch(2).map(tokenizer), ShapeError);
  Tokenizer padded = tokenizer.with_padding(Padding{.pad_id = 6});
  EXPECT_EQ(all_of(dataset.batch(2).map(padded))[0][0],
            Tensor::from<int64_t>({3, 6, 6, 6, 0, 2, 1, 4}, {2, 4}));
  Tokenizer fixed = padded.with_truncation(Truncation{.max_length = 3})
                        .with_padding(Padding{.length = 3, .pad_id = 6});
  EXPECT_EQ(data::to_string(dataset.map(fixed).batch(2).spec()), "(int64[2, 3])");
  EXPECT_EQ(all_of(dataset.map(fixed).batch(2))[0][0],
            Tensor::from<int64_t>({3, 6, 6, 0, 2, 1}, {2, 3}));
}

TEST(Tokenizer, SaysWhatItDoesNotSupportAndWhatIsWrong) {
  auto message = [](const std::string& json) {
    return message_of([&] { Tokenizer::from_json(json); });
  };
  EXPECT_NE(message(with("\"BPE\"", "\"Unigram\"")).find("model is \"Unigram\""),
            std::string::npos);
  EXPECT_NE(message(with("\"normalizer\": null", "\"normalizer\": {\"type\": \"Nmt\"}"))
                .find("normalizer is \"Nmt\""),
            std::string::npos);
  EXPECT_NE(message(with("\"a b\"", "\"a c\"")).find("model.merges[0]"), std::string::npos);
  EXPECT_NE(message(with("\"b\": 1", "\"b\": 0")).find("two tokens have the id 0"),
            std::string::npos);
  EXPECT_NE(message(with("\"b\": 1", "\"b\": -1")).find("the id of \"b\""), std::string::npos);
  EXPECT_NE(message("[]").find("no object"), std::string::npos);
  std::string doubling;
  for (int at = 0; at < 60; ++at)
    doubling += std::string(at > 0 ? "," : "") +
                R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  Tokenizer bomb = Tokenizer::from_json(
      with("\"normalizer\": null",
           "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [" + doubling + "]}"));
  EXPECT_THROW(bomb.encode("a"), ValueError);
  TempDir dir;
  EXPECT_THROW(Tokenizer::load(dir.write("t.json", "{}")), FileError);
  EXPECT_THROW(Tokenizer::load(dir / "none.json"), FileError);
}

}  // namespace
}  // namespace stoker::text
