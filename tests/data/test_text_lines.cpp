#include <gtest/gtest.h>
#include <stoker/text.h>

#include "base/utf8.h"
#include "data/elements.h"
#include "formats/lines.h"
#include "support/deflate.h"
#include "support/temp_dir.h"

namespace stoker::data {
namespace {

using test::TempDir;
using Texts = std::vector<std::string>;

Texts texts(const Dataset& dataset, int threads = 2) {
  Iterator walk = walk_with(dataset, threads);
  Texts all;
  while (const Batch* element = walk.next())
    for (const std::string& text : (*element)[0].values<std::string>()) all.push_back(text);
  return all;
}

// Lines of all lengths, so that blocks begin and end in every way.
Texts many_lines(int count) {
  Texts lines;
  for (int at = 0; at < count; ++at)
    lines.push_back(std::string(size_t(at * 37 % 251), char('a' + at % 26)) + std::to_string(at));
  return lines;
}
std::string joined(const Texts& lines, const char* end = "\n") {
  std::string text;
  for (const std::string& line : lines) text += line + end;
  return text;
}

TEST(TextLines, AreTheLinesOfAllFilesInOrder) {
  TempDir dir;
  dir.write("a.txt", "one\ntwo\n\nfour");
  dir.write("b.txt", "");
  dir.write("c.txt", "\r\nsix\r\nse\rven\r\n");
  Dataset lines = text_lines({dir / "a.txt", dir / "b.txt", dir / "c.txt"});
  EXPECT_EQ(lines.cardinality().count, 7);
  EXPECT_TRUE(lines.random_access());
  EXPECT_EQ(texts(lines), (Texts{"one", "two", "", "four", "", "six", "se\rven"}));
}

TEST(TextLines, AStreamGivesTheSameLinesAsTheIndex) {
  TempDir dir;
  Texts all = many_lines(3000);
  for (const char* end : {"\n", "\r\n"}) {
    std::string path = dir.write("a.txt", "\xEF\xBB\xBF" + joined(all, end) + "rest");
    dir.write("a.txt.gz", test::gzip("\xEF\xBB\xBF" + joined(all, end) + "rest"));
    Texts expected = all;
    expected.push_back("rest");
    EXPECT_EQ(texts(text_lines(path)), expected);
    EXPECT_EQ(texts(text_lines(path, {.index = false})), expected);
    Dataset compressed = text_lines(path + ".gz");
    EXPECT_FALSE(compressed.random_access());
    EXPECT_EQ(texts(compressed), expected);
  }
}

TEST(TextLines, ShuffledTheyAreAllThereAtAnyThreadCount) {
  TempDir dir;
  Texts all = many_lines(2000);
  Dataset lines = text_lines(dir.write("a.txt", joined(all))).shuffle({.seed = 3}).batch(64);
  Texts once = texts(lines, 1), thrice = texts(lines, 3);
  EXPECT_EQ(once, thrice);
  EXPECT_NE(once, all);
  std::sort(once.begin(), once.end()), std::sort(all.begin(), all.end());
  EXPECT_EQ(once, all);
}

TEST(TextLines, AWalkGoesOnWhereItStood) {
  TempDir dir;
  std::string path = dir.write("a.txt", joined(many_lines(500)));
  for (bool index : {true, false}) {
    Dataset lines = text_lines(path, {.index = index}).batch(7);
    Texts expected = texts(lines);
    Iterator walk = walk_with(lines, 2);
    Texts got;
    auto take = [&](Iterator& from) {
      const Batch* batch = from.next();
      if (batch == nullptr) return false;
      for (const std::string& text : (*batch)[0].values<std::string>()) got.push_back(text);
      return true;
    };
    for (int at = 0; at < 20; ++at) take(walk);
    Iterator later = walk_with(lines, 3, 1, walk.state());
    while (take(later)) {
    }
    EXPECT_EQ(got, expected);
  }
}

TEST(TextLines, InvalidBytesAreAnErrorWithFileLineAndByte) {
  TempDir dir;
  std::string path = dir.write("a.txt", "good\nbad \xE9 one\ngood");
  for (bool index : {true, false}) {
    std::string message = message_of([&] { texts(text_lines(path, {.index = index})); });
    EXPECT_NE(message.find(path + ", line 2"), std::string::npos) << message;
    EXPECT_NE(message.find("byte 4 is 0xe9"), std::string::npos) << message;
    EXPECT_EQ(texts(text_lines(path, {.index = index}).on_error(OnError::skip)),
              (Texts{"good", "good"}));
  }
  EXPECT_EQ(texts(text_lines(path, {.invalid_utf8 = InvalidUtf8::replace}))[1],
            "bad \xEF\xBF\xBD one");
  EXPECT_EQ(texts(text_lines(path, {.invalid_utf8 = InvalidUtf8::keep}))[1], "bad \xE9 one");
}

TEST(TextLines, ALineThatIsTooLongIsNamed) {
  TempDir dir;
  std::string path = dir.write("a.txt", "short\n" + std::string(100, 'x') + "\n");
  TextLinesOptions options{.max_line_bytes = 50};
  std::string message = message_of([&] { text_lines(path, options); });
  EXPECT_NE(message.find("line 2 is longer than 50 bytes"), std::string::npos) << message;
  options.index = false;
  message = message_of([&] { texts(text_lines(path, options)); });
  EXPECT_NE(message.find("line 2"), std::string::npos) << message;
  EXPECT_EQ(texts(text_lines(path, {.max_line_bytes = 100})).size(), 2U);
}

TEST(TextLines, AFileThatChangedIsNoticed) {
  TempDir dir;
  std::string path = dir.write("a.txt", "one\ntwo\n");
  Dataset lines = text_lines(path);
  dir.write("a.txt", "one\n");
  EXPECT_NE(message_of([&] { texts(lines); }).find("has changed"), std::string::npos);
  EXPECT_THROW(text_lines(dir / "none.txt"), FileError);
  EXPECT_THROW(text_lines(std::vector<std::string>()), ValueError);
}

TEST(TextLines, TheIndexIsSmall) {
  TempDir dir;
  std::string path = dir.write("a.txt", joined(many_lines(20'000)));
  auto file = local_files().open(path);
  RecordIndex index = index_lines(*file);
  EXPECT_EQ(index.records(), 20'000U);
  EXPECT_LT(index.blocks() * sizeof(RecordBlock), file->size() / 900);
}

TEST(TextFolder, HasALabelPerFolderAndSubfoldersBelongToIt) {
  TempDir dir;
  dir.write("neg/a.txt", "bad");
  dir.write("neg/deeper/b.TXT", "worse");
  dir.write("pos/c.txt", "good");
  dir.write("pos/notes.md", "no text");
  Dataset folder = text_folder(dir.path().string());
  std::vector<Batch> all = all_of(folder);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(*all[0][0].data<std::string>(), "bad");
  EXPECT_EQ(*all[1][0].data<std::string>(), "worse");
  EXPECT_EQ(*all[2][0].data<std::string>(), "good");
  EXPECT_EQ(all[1][1].item(), 0);
  EXPECT_EQ(all[2][1].item(), 1);
  Dataset turned =
      text_folder(dir.path().string(), {.class_names = {"pos", "neg"}, .max_length = 3});
  EXPECT_EQ(*all_of(turned)[2][0].data<std::string>(), "wor");
  EXPECT_EQ(all_of(turned)[0][1].item(), 0);
}

TEST(TextFolder, TrainingAndValidationAreApartAndComplete) {
  TempDir dir;
  for (int at = 0; at < 50; ++at)
    dir.write("c" + std::to_string(at % 2) + "/" + std::to_string(at) + ".txt", std::to_string(at));
  auto subset = [&](Subset which, uint64_t seed) {
    return texts(
        text_folder(dir.path().string(), {.validation_split = 0.2, .subset = which, .seed = seed}));
  };
  Texts training = subset(Subset::training, 1), validation = subset(Subset::validation, 1);
  EXPECT_EQ(training.size(), 40U);
  EXPECT_EQ(validation.size(), 10U);
  EXPECT_NE(validation, subset(Subset::validation, 2));
  training.insert(training.end(), validation.begin(), validation.end());
  std::sort(training.begin(), training.end());
  EXPECT_EQ(std::unique(training.begin(), training.end()), training.end());
  EXPECT_THROW(text_folder(dir.path().string(), {.validation_split = 0.2}), ValueError);
  EXPECT_THROW(text_folder(dir.path().string(), {.subset = Subset::training}), ValueError);
}

TEST(TextFolder, ErrorsNameTheFile) {
  TempDir dir;
  std::string path = dir.write("a/bad.txt", "caf\xE9");
  std::string message = message_of([&] { all_of(text_folder(dir.path().string())); });
  EXPECT_NE(message.find("a/bad.txt"), std::string::npos) << message;
  TempDir empty;
  EXPECT_THROW(text_folder(empty.path().string()), FileError);
}

TEST(Utf8, InvalidBytesAreReplacedByTheirLongestPieces) {
  EXPECT_EQ(repaired_utf8("a\xE2\x82x\xED\xA0\x80z"),
            "a\xEF\xBF\xBDx\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
  for (uint32_t code : {0x41U, 0xE9U, 0x20ACU, 0x1F600U}) {
    std::string text;
    append_utf8(text, code);
    EXPECT_EQ(first_character(text).code, code);
    EXPECT_EQ(valid_utf8_bytes(text), text.size());
  }
}

}  // namespace
}  // namespace stoker::data
