#include <gtest/gtest.h>
#include <stoker/error.h>
#include <stoker/safetensors.h>

#include "formats/safetensors.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using test::TempDir;

SafetensorsFile checked_file() {
  return {.tensors = {{"kernel", Tensor::from({1.0F, -2.0F, 3.5F, 0.0F}, {2, 2})},
                      {"nothing", Tensor::zeros({0})},
                      {"mask", Tensor::from<uint8_t>({0, 1, 0}, {3}).cast(DType::bool_)}},
          .metadata = {{"format", "mine"}, {"note", "text"}},
          .checksums = true};
}

std::string written(const SafetensorsFile& file) {
  TempDir dir;
  write_safetensors(dir / "a", file);
  return read_text(dir / "a");
}

SafetensorsFile parsed(const std::string& bytes) {
  return parse_safetensors(as_bytes(bytes), "memory");
}

std::string error_of(const std::string& bytes) {
  try {
    parsed(bytes);
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

TEST(SafetensorsChecksums, AreNoneOfTheMetadataThatIsReadBack) {
  SafetensorsFile file = checked_file(), back = parsed(written(file));
  EXPECT_EQ(back.tensors, file.tensors);
  EXPECT_EQ(back.metadata, file.metadata);
  EXPECT_TRUE(back.checksums);
  EXPECT_EQ(written(back), written(file));
  EXPECT_FALSE(parsed(written({.tensors = file.tensors})).checksums);
  EXPECT_TRUE(parsed(written({.checksums = true})).checksums);
}

TEST(SafetensorsChecksums, StandFirstWhereTheFormatDocumentsThem) {
  std::string bytes = written(checked_file());
  EXPECT_EQ(bytes.find(R"({"__metadata__":{"stoker_crc32c":")"), 8U) << bytes;
  EXPECT_NE(bytes.find(R"(","stoker_tensor_crc32c":")"), std::string::npos) << bytes;
}

TEST(SafetensorsChecksums, MakeEveryFlippedBitAnError) {
  const std::string whole = written(checked_file());
  for (size_t byte = 0; byte < whole.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[byte] = char(bytes[byte] ^ 1 << bit);
      EXPECT_NE(error_of(bytes), "") << "bit " << bit << " of byte " << byte;
    }
}

TEST(SafetensorsChecksums, MakeEveryChangedByteAnError) {
  const std::string whole = written(checked_file());
  for (size_t byte = 0; byte < whole.size(); ++byte)
    for (char other : std::string_view("\0 09af\"{}:,\x7f\xff", 13)) {
      std::string bytes = whole;
      bytes[byte] = other;
      EXPECT_TRUE(bytes == whole || !error_of(bytes).empty()) << int(other) << " as byte " << byte;
    }
}

TEST(SafetensorsChecksums, NameTheTensorThatIsDamaged) {
  std::string bytes = written(checked_file());
  bytes[bytes.size() - 5] ^= 1;  // the last of kernel's sixteen; three of mask follow
  bytes[bytes.size() - 4] ^= 1;
  std::string text = error_of(bytes);
  EXPECT_EQ(text.find("memory: "), 0U) << text;
  EXPECT_NE(text.find("tensor \"kernel\" is damaged"), std::string::npos) << text;
}

TEST(SafetensorsChecksums, OfWhichOneIsLostAreAnError) {
  for (const char* key : {"stoker_crc32c", "stoker_tensor_crc32c"}) {
    std::string bytes = written(checked_file());
    bytes[bytes.find(key)] = 'S';
    EXPECT_NE(error_of(bytes), "") << key;
  }
  // As another program would write the metadata that it has read.
  std::string header = R"({"__metadata__":{"a":"b","stoker_crc32c":"00000000"}})";
  uint64_t length = header.size();
  std::string text = error_of(std::string(reinterpret_cast<char*>(&length), 8) + header);
  EXPECT_NE(text.find("another program rewrote it"), std::string::npos) << text;
}

TEST(SafetensorsChecksums, HaveNamesThatAreTaken) {
  TempDir dir;
  for (const char* key : {"stoker_crc32c", "stoker_tensor_crc32c"})
    EXPECT_THROW(save_safetensors(dir / "a", {}, {{key, "x"}}), ValueError);
  EXPECT_FALSE(local_files().exists(dir / "a"));
}

}  // namespace
}  // namespace stoker
