// Tokenisers against the package that defines the file format (tokenizers_peer.py).
#include <filesystem>

#include <gtest/gtest.h>
#include <stoker/tokenizer.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "formats/json.h"
#include "support/peer_python.h"
#include "support/temp_dir.h"

namespace stoker::text {
namespace {

using Json = nlohmann::json;

// The package shows an added token with the spaces that it took.
std::vector<std::string> names_of(const Json& expected, const Encoding& got) {
  auto names = expected["tokens"].get<std::vector<std::string>>();
  for (size_t at = 0; at < std::min(names.size(), got.tokens.size()); ++at) {
    size_t found = names[at].find(got.tokens[at]);
    bool spaces = found != std::string::npos && got.tokens[at].starts_with("<");
    if (spaces) names[at] = got.tokens[at];
  }
  return names;
}

void expect_same(const Encoding& got, const Json& expected, const std::string& what) {
  EXPECT_EQ(got.tokens, names_of(expected, got)) << what;
  EXPECT_EQ(got.ids, expected["ids"].get<std::vector<int64_t>>()) << what;
  EXPECT_EQ(got.type_ids, expected["type_ids"].get<std::vector<int64_t>>()) << what;
  EXPECT_EQ(got.attention_mask, expected["attention_mask"].get<std::vector<int64_t>>()) << what;
  EXPECT_EQ(got.special_tokens_mask, expected["special_tokens_mask"].get<std::vector<int64_t>>())
      << what;
}

void expect_all_the_same(const std::string& path) {
  Tokenizer tokenizer = Tokenizer::load(path);
  std::string recorded = path.substr(0, path.size() - 5) + ".cases.json";
  Json all = parse_json(read_text(recorded));
  auto pair_with = all["pair_with"].get<std::string>();
  EXPECT_EQ(tokenizer.vocabulary_size(), all["size"].get<int64_t>());
  std::vector<std::string> batch;
  for (const Json& each : all["cases"]) {
    auto text = each["text"].get<std::string>();
    std::string what = std::filesystem::path(path).filename().string() + ": " + each["text"].dump();
    if (batch.size() < all["batch"].size()) batch.push_back(text);
    Encoding single = tokenizer.encode(text);
    expect_same(single, each["single"], what);
    EXPECT_EQ(tokenizer.encode(text, {.add_special_tokens = false}).ids,
              each["bare"].get<std::vector<int64_t>>())
        << what;
    expect_same(tokenizer.encode(text, pair_with), each["pair"], what + " and a pair");
    EXPECT_EQ(tokenizer.decode(single.ids), each["decoded"].get<std::string>()) << what;
    EXPECT_EQ(tokenizer.decode(single.ids, {.skip_special_tokens = false}),
              each["kept"].get<std::string>())
        << what;
    if (::testing::Test::HasFailure()) return;
  }
  std::vector<Encoding> encoded = tokenizer.encode_batch(batch);
  for (size_t at = 0; at < encoded.size(); ++at)
    expect_same(encoded[at], all["batch"][at], path + ", a batch");
}

TEST(TokenizerPeer, EveryTextGivesTheTokensOfThePackage) {
  test::TempDir dir;
  STOKER_EXPECT_PEER("data/tokenizers_peer.py", dir.path().string());
  for (const DirectoryEntry& entry : local_files().list(dir.path().string()))
    if (entry.name.find(".cases.") == std::string::npos) expect_all_the_same(dir / entry.name);
}

}  // namespace
}  // namespace stoker::text
