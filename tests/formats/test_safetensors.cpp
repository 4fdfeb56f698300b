#include <cerrno>
#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <stoker/error.h>
#include <stoker/random.h>

#include "formats/safetensors.h"
#include "support/faulty_files.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using test::FaultyFiles;
using test::TempDir;

SafetensorsFile small_file() {
  return {.tensors = {{"dense/kernel", Tensor::from({1.0F, -2.0F, 3.5F, NAN, 0.0F, 6.0F}, {2, 3})},
                      {"step", Tensor::from<int64_t>({INT64_MIN}, {})},
                      {"mask", Tensor::from<uint8_t>({0, 1, 0}, {3}).cast(DType::bool_)},
                      {"empty", Tensor::zeros({0, 4})},
                      {"half", Tensor::full({3}, 0.1, DType::float16)}},
          .metadata = {{"format", "pt"}, {"note", "ä \"quoted\"\n"}}};
}

// A file with the given header, its length before it and some data after it.
std::string with_header(const std::string& header, size_t data_bytes = 0) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header +
         std::string(data_bytes, '\0');
}

SafetensorsFile parse(const std::string& bytes) {
  return parse_safetensors(as_bytes(bytes), "memory");
}

std::string parse_error(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

void expect_refused(const std::string& header, size_t data_bytes, const std::string& why) {
  std::string error = parse_error(with_header(header, data_bytes));
  EXPECT_EQ(error.find("memory: not a valid safetensors file: "), 0U) << error;
  EXPECT_NE(error.find(why), std::string::npos) << error << "\nfor " << header.substr(0, 200);
}

TEST(Safetensors, WhatIsWrittenIsReadBack) {
  TempDir dir;
  SafetensorsFile file = small_file();
  write_safetensors(dir / "a", file);
  SafetensorsFile back = read_safetensors(dir / "a");
  EXPECT_EQ(back.tensors, file.tensors);
  EXPECT_EQ(back.metadata, file.metadata);
}

TEST(Safetensors, HoldsEveryNumericDType) {
  TempDir dir;
  SafetensorsFile file;
  for (DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int16,
                      DType::int32, DType::int64, DType::uint8, DType::bool_})
    file.tensors.emplace_back(name(dtype), Tensor::full({2, 2}, 1, dtype));
  write_safetensors(dir / "a", file);
  EXPECT_EQ(read_safetensors(dir / "a").tensors, file.tensors);
}

TEST(Safetensors, LaysBytesOutAsTheFormatSays) {
  TempDir dir;
  write_safetensors(dir / "a", {.tensors = {{"x", Tensor::from<int16_t>({1, -2}, {2})}}});
  std::string header = R"({"x":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}})";
  header.resize(56, ' ');
  EXPECT_EQ(read_text(dir / "a"), with_header(header) + std::string("\1\0\xfe\xff", 4));
}

TEST(Safetensors, WritesTheSameBytesEveryTime) {
  TempDir dir;
  write_safetensors(dir / "a", small_file());
  write_safetensors(dir / "b", small_file());
  EXPECT_EQ(read_text(dir / "a"), read_text(dir / "b"));
  EXPECT_EQ(read_text(dir / "a").find("{"), 8U);
}

TEST(Safetensors, MayHoldNothing) {
  TempDir dir;
  write_safetensors(dir / "a", {});
  EXPECT_EQ(read_text(dir / "a"), with_header("{}      "));
  EXPECT_TRUE(read_safetensors(dir / "a").tensors.empty());
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirBytes) {
  auto file = parse(with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[3,5]},)"
                                R"("z":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
                                5));
  ASSERT_EQ(file.tensors.size(), 2U);
  EXPECT_EQ(file.tensors[0].first, "z");
  EXPECT_EQ(file.tensors[1].first, "a");
}

TEST(Safetensors, RefusesToWriteWhatCannotBeReadBack) {
  TempDir dir;
  Tensor x(1.0F);
  auto refused = [&](const SafetensorsFile& file) {
    EXPECT_THROW(write_safetensors(dir / "a", file), ValueError);
    EXPECT_FALSE(local_files().exists(dir / "a"));
  };
  refused({.tensors = {{"x", x}, {"x", x}}});
  refused({.tensors = {{"__metadata__", x}}});
  refused({.tensors = {{"x", Tensor()}}});
  refused({.tensors = {{"x", Tensor::from<std::string>({"text"}, {1})}}});
  refused({.tensors = {{"\xff", x}}});
  refused({.metadata = {{"key", "\xff"}}});
}

TEST(Safetensors, RefusesHeaderLengthsThatCannotBe) {
  EXPECT_EQ(parse_error(""),
            "memory: not a valid safetensors file: expected 8 bytes or more, got 0");
  EXPECT_NE(parse_error(std::string(8, '\xff')).find("does not fit"), std::string::npos);
  std::string large = with_header(std::string(100'000'001, ' '));
  EXPECT_NE(parse_error(large).find("limit 100000000"), std::string::npos);
}

TEST(Safetensors, RefusesHeadersThatAreNotTheFormats) {
  expect_refused("", 0, "not JSON");
  expect_refused("{", 0, "not JSON");
  expect_refused("\"text\"", 0, "unexpected string instead of an object");
  expect_refused("{\"\xff\":{}}", 0, "not JSON");
  expect_refused("[0,0]", 0, "unexpected list");
  expect_refused(std::string(1'000'000, '['), 0, "unexpected list");
  expect_refused(R"({"a":{"b":{"c":{}}}})", 0, "\"a\": unexpected object in \"b\"");
  expect_refused(R"({"a":1})", 0, "\"a\": unexpected number");
  expect_refused(R"({"a":{"dtype":"U8","shape":[1]}})", 1, "expected dtype");
  expect_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}})", 1,
                 "unexpected number in \"more\"");
  expect_refused(R"({"__metadata__":{"a":1}})", 0, "\"__metadata__\": unexpected number in \"a\"");
  expect_refused(R"({"__metadata__":"a"})", 0, "\"__metadata__\": unexpected string");
}

TEST(Safetensors, RefusesKeysThatComeTwice) {
  expect_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                 R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                 2, "\"a\" comes twice");
  expect_refused(R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1,
                 "twice");
  expect_refused(R"({"__metadata__":{"k":"1","k":"2"}})", 0, "\"k\" comes twice");
}

TEST(Safetensors, NamesTheDTypesItReads) {
  expect_refused(R"({"a":{"dtype":"U64","shape":[1],"data_offsets":[0,8]}})", 8,
                 "\"U64\" is not one that Stoker reads: F64, F32, F16");
  expect_refused(R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,8]}})", 8,
                 "unexpected number in \"dtype\"");
}

TEST(Safetensors, KeepsFloat64AsFloat32) {
  std::string head = R"({"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})";
  auto with_values = [&](double first, double second) {
    double values[] = {first, second};
    return with_header(head) + std::string(reinterpret_cast<const char*>(values), sizeof(values));
  };
  EXPECT_EQ(parse(with_values(0.1, -3)).tensors[0].second, Tensor::from({0.1F, -3.0F}, {2}));
  EXPECT_NE(parse_error(with_values(1, 1e300)).find("is beyond float32"), std::string::npos);
  expect_refused(head, 8, "its place is [0, 16] of 8 bytes");
  expect_refused(R"({"a":{"dtype":"F64","shape":[2],"data_offsets":[0,8]}})", 8,
                 "float64[2] does not take 8 bytes");
}

TEST(Safetensors, RefusesShapesThatCannotBe) {
  auto refused = [](const std::string& shape, const std::string& why) {
    expect_refused(R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,4]}})", 4,
                   why);
  };
  refused("[-1]", "unexpected negative number in \"shape\"");
  refused("[1.0]", "unexpected fraction");
  refused("[true]", "unexpected bool");
  refused("3", "unexpected number");
  refused("[2]", "float32[2] does not take 4 bytes");
  refused("[18446744073709551615]", "a dimension is 18446744073709551615");
  refused("[99999999999999999999999]", "huge number");
  refused("[4611686018427387905]", "does not take 4 bytes");  // times 4 it is 4 modulo 2^64
  refused("[4294967296,4294967296]", "2^63");
  refused("[1,1,1,1,1,1,1,1,1]", "ninth number");
  refused("[[1]]", "list");
}

TEST(Safetensors, RefusesPlacesThatCannotBe) {
  auto refused = [](const std::string& offsets, const std::string& why) {
    expect_refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + offsets + "}}", 4, why);
  };
  refused("[0,5]", "its place is [0, 5] of 4 bytes");
  refused("[3,2]", "its place");
  refused("[-4,0]", "negative");
  refused("[0]", "its place");
  refused("[0,2,4]", "its place");
  refused("4", "unexpected number");
  refused("[0,18446744073709551615]", "its place");
  refused("[0,3]", "does not take 3 bytes");
}

TEST(Safetensors, RefusesOverlapsAndGaps) {
  auto two = [](const char* first, const char* second) {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + std::string(first) +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(parse_error(with_header(two("[0,2]", "[2,4]"), 4)), "no error");
  expect_refused(two("[0,2]", "[1,3]"), 3, "overlaps");
  expect_refused(two("[0,2]", "[0,2]"), 2, "overlaps");
  expect_refused(two("[0,2]", "[3,5]"), 5, "gap");
  expect_refused(two("[1,3]", "[3,5]"), 5, "gap");
  expect_refused(two("[0,2]", "[2,4]"), 5, "end at 4 of 5 bytes");
}

TEST(Safetensors, RefusesBoolsThatAreNeitherTrueNorFalse) {
  std::string bytes = with_header(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 1);
  EXPECT_EQ(parse_error(bytes), "no error");
  bytes.back() = 2;
  EXPECT_NE(parse_error(bytes).find("neither 0 nor 1"), std::string::npos);
}

TEST(Safetensors, CutOffAnywhereIsAnError) {
  TempDir dir;
  write_safetensors(dir / "a", small_file());
  std::string whole = read_text(dir / "a");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(parse_error(whole.substr(0, length)), "no error") << length;
  EXPECT_NE(parse_error(whole + "x"), "no error");
}

TEST(Safetensors, WithDamagedBytesIsReadOrRefusedButNeverCrashes) {
  TempDir dir;
  write_safetensors(dir / "a", small_file());
  const std::string whole = read_text(dir / "a");
  Rng rng(2024);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (int64_t changes = rng.integer(1, 4); changes > 0; --changes)
      bytes[size_t(rng.integer(0, int64_t(bytes.size())))] = char(rng.integer(0, 256));
    refused += parse_error(bytes) != "no error";
  }
  EXPECT_GT(refused, 1'000);  // damage in tensor data cannot be seen, damage in the header can
}

TEST(Safetensors, WithAnyDigitOfItsHeaderChangedIsReadOrRefused) {
  TempDir dir;
  write_safetensors(dir / "a", small_file());
  const std::string whole = read_text(dir / "a");
  for (size_t place = 0; place < whole.size(); ++place)
    for (char digit : std::string_view("0123456789-[]{},\"")) {
      std::string bytes = whole;
      bytes[place] = digit;
      parse_error(bytes);
    }
}

TEST(Safetensors, MayHoldVeryManyTensors) {
  std::string header = "{";
  for (int i = 0; i < 30'000; ++i)
    header += (i ? ",\"" : "\"") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(parse(with_header(header + "}")).tensors.size(), 30'000U);
}

TEST(Safetensors, KeepsItsErrorsShort) {
  std::string name(1'000'000, 'n');
  EXPECT_LT(parse_error(with_header("{\"" + name + "\":1}")).size(), 1'000U);
}

TEST(Safetensors, BeginsErrorsWithThePath) {
  TempDir dir;
  std::string path = dir.write("weights.safetensors", "not one");
  try {
    read_safetensors(path);
    FAIL() << "it was read";
  } catch (const FileError& error) {
    EXPECT_EQ(std::string(error.what()).find(path + ": "), 0U) << error.what();
  }
  EXPECT_THROW(read_safetensors(dir / "absent"), FileError);
}

TEST(Safetensors, ThatCannotBeWrittenLeavesTheOldFile) {
  TempDir dir;
  write_safetensors(dir / "a", small_file());
  FaultyFiles files;
  for (int step = 0; step < 12; ++step) {
    files.fail_once(step, ENOSPC);
    try {
      write_safetensors(dir / "a", {.tensors = {{"x", Tensor(1.0F)}}}, files);
      break;
    } catch (const FileError&) {
      size_t tensors = read_safetensors(dir / "a").tensors.size();
      EXPECT_TRUE(tensors == small_file().tensors.size() || tensors == 1);
      EXPECT_EQ(local_files().list(dir / "").size(), 1U);
    }
  }
  EXPECT_EQ(read_safetensors(dir / "a").tensors.size(), 1U);
}

TEST(Safetensors, NamesTheFormatsOfOthers) {
  TempDir dir;
  dir.write("a.keras", "PK\x03\x04 and so on");
  dir.write("a.h5", "\x89HDF\r\n\x1a\n and so on");
  auto said = [&](const char* name) -> std::string {
    try {
      read_safetensors(dir / name);
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(said("a.keras").find("zip archive"), std::string::npos) << said("a.keras");
  EXPECT_NE(said("a.h5").find("HDF5"), std::string::npos) << said("a.h5");
}

TEST(Safetensors, IsReadThroughShortReadsAndReportsFailingOnes) {
  TempDir dir;
  write_safetensors(dir / "a", small_file());
  FaultyFiles files;
  files.limit_reads(3);
  EXPECT_EQ(read_safetensors(dir / "a", files).tensors, small_file().tensors);
  int operations = files.operations();
  for (int step = 0; step < operations; ++step) {
    files.fail_once(step, EIO);
    EXPECT_THROW(read_safetensors(dir / "a", files), FileError);
  }
}

}  // namespace
}  // namespace stoker
