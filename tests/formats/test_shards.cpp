// Shards: what is written is read back, and who may write where.
#include <thread>

#include <stoker/random.h>

#include "formats/shard_elements.h"
#include "formats/shard_manifest.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using namespace test;

TEST(Shards, WhatIsWrittenIsReadBack) {
  TempDir dir;
  write_elements(dir / "a", 20, {.fingerprint = "ä, 7", .names = {"x", "y", "mask", "text", "f"}});
  ShardReader reader(dir / "a");
  EXPECT_EQ(reader.size(), 20);
  EXPECT_EQ(reader.spec(), kSpec);
  EXPECT_EQ(reader.fingerprint(), "ä, 7");
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"x", "y", "mask", "text", "f"}));
  for (int64_t index : {19, 0, 7, 7, 3}) EXPECT_EQ(tensors_of(reader.read(index)), element(index));
  EXPECT_EQ(read_all(dir / "a", {.map = false}), elements(20));
  EXPECT_EQ(read_all(dir / "a", {.check = false}), elements(20));
}

TEST(Shards, HoldEveryDType) {
  TempDir dir;
  std::vector<TensorSpec> spec;
  Element all;
  for (DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int16,
                      DType::int32, DType::int64, DType::uint8, DType::bool_}) {
    spec.push_back({dtype, {3}});
    all.push_back(Tensor::full({3}, 1, dtype));
  }
  ShardWriter writer(dir / "a", spec);
  write(writer, 0, all);
  writer.finish();
  EXPECT_EQ(read_all(dir / "a"), std::vector<Element>{all});
}

TEST(Shards, AreReadInTheOrderOfIndicesWhateverTheOrderOfWriting) {
  TempDir dir;
  ShardWriter writer(dir / "a", kSpec, {.shard_bytes = 2'000});
  for (int64_t step = 0; step < 50; ++step) {
    int64_t index = step * 37 % 50;
    write(writer, index, element(index));
  }
  writer.finish();
  EXPECT_GT(names_in(dir / "a").size(), 5U);
  EXPECT_EQ(read_all(dir / "a"), elements(50));
}

TEST(Shards, KeepTheirSizeAndTheirNames) {
  TempDir dir;
  TensorSpec spec{DType::float32, {1'000}};
  ShardWriter writer(dir / "a", {spec}, {.shard_bytes = 10'000});
  for (int64_t index = 0; index < 7; ++index) write(writer, index, {Tensor::full({1'000}, 1)});
  writer.finish();
  EXPECT_EQ(names_in(dir / "a"),
            (std::vector<std::string>{"data-0000-00000.shard", "data-0000-00001.shard",
                                      "data-0000-00002.shard", "manifest.json"}));
  // Header, three records of 4032 bytes (4000 and padding), their index and the footer.
  EXPECT_EQ(local_files().size(dir / "a/data-0000-00000.shard"), 64U + 3 * 4'032 + 3 * 32 + 32);
}

TEST(Shards, SmallElementsTakeLittleSpace) {
  TempDir dir;
  ShardWriter writer(dir / "a", {{DType::int64, {}}});
  for (int64_t index = 0; index < 10; ++index)
    write(writer, index, {Tensor::full({}, 1, DType::int64)});
  writer.finish();
  EXPECT_EQ(local_files().size(dir / "a/data-0000-00000.shard"), 64U + 10 * (8 + 32) + 32);
}

TEST(Shards, NumbersAreAligned) {
  TempDir dir;
  write_elements(dir / "a", 10);
  for (bool map : {true, false}) {
    ShardReader reader(dir / "a", {.map = map});
    for (int64_t index = 0; index < 10; ++index) {
      ShardRecord record = reader.read(index);
      for (size_t component : {0, 1, 2, 4}) {
        ConstTensorView view = record.view(component);
        size_t alignment = view.bytes() >= 64 ? 64 : 8;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data) % alignment, 0U);
      }
    }
  }
}

TEST(Shards, MayHoldNothing) {
  TempDir dir;
  ShardWriter(dir / "a", kSpec).finish();
  ShardReader reader(dir / "a");
  EXPECT_EQ(reader.size(), 0);
  EXPECT_THROW(reader.read(0), ValueError);
  ShardWriter writer(dir / "b", {});
  writer.write(0, {});
  writer.finish();
  EXPECT_EQ(ShardReader(dir / "b").read(0).size(), 0U);
}

TEST(Shards, ElementsLargerThanBufferAndShardAreKept) {
  TempDir dir;
  Element large = {Tensor::full({3'000'000}, 7, DType::uint8)};
  ShardWriter writer(dir / "a", {{DType::uint8, {-1}}}, {.shard_bytes = 1});
  write(writer, 1, large);
  write(writer, 0, {Tensor::zeros({0}, DType::uint8)});
  writer.finish();
  EXPECT_EQ(tensors_of(ShardReader(dir / "a").read(1)), large);
  EXPECT_EQ(ShardReader(dir / "a").read(0).view(0).elements(), 0);
}

TEST(Shards, RefuseElementsThatDoNotFitAndGoOn) {
  TempDir dir;
  ShardWriter writer(dir / "a", {{DType::float32, {-1, 2}}, {DType::int32, {}}});
  Tensor label = Tensor::zeros({}, DType::int32);
  auto error = [&](int64_t index, const Element& wrong) -> std::string {
    try {
      write(writer, index, wrong);
    } catch (const Error& refused) {
      return refused.what();
    }
    return "no error";
  };
  EXPECT_EQ(error(0, {label}), "element 0: expected 2 components, got 1");
  EXPECT_EQ(error(0, {Tensor::zeros({3, 3}), label}),
            "element 0, component 0: expected float32[None, 2], got float32[3, 3]");
  EXPECT_EQ(error(0, {Tensor::zeros({2}), label}),
            "element 0, component 0: expected float32[None, 2], got float32[2]");
  EXPECT_EQ(error(0, {Tensor::zeros({3, 2}), Tensor::zeros({})}),
            "element 0, component 1: expected int32[], got float32[]");
  EXPECT_EQ(error(-1, {Tensor::zeros({3, 2}), label}), dir / "a" + ": there is no element -1");
  EXPECT_EQ(error(0, {Tensor::zeros({3, 2}), label}), "no error");
  EXPECT_EQ(error(0, {Tensor::zeros({3, 2}), label}), dir / "a" + ": element 0 was written before");
  writer.finish();
  EXPECT_EQ(ShardReader(dir / "a").size(), 1);
  EXPECT_EQ(error(1, {Tensor::zeros({3, 2}), label}), dir / "a" + ": the dataset is finished");
}

TEST(Shards, RefuseToFinishWithElementsMissing) {
  TempDir dir;
  {
    ShardWriter writer(dir / "a", {{DType::int64, {}}});
    Element one = {Tensor::zeros({}, DType::int64)};
    for (int64_t index : {0, 1, 3}) write(writer, index, one);
    try {
      writer.finish();
      FAIL();
    } catch (const ValueError& error) {
      EXPECT_EQ(error.what(), dir / "a" + ": element 2 is missing: 3 of 4 were written");
    }
    EXPECT_FALSE(shards_exist(dir / "a"));
    write(writer, 2, one);
    writer.finish();
  }
  EXPECT_EQ(ShardReader(dir / "a").size(), 4);
  ShardWriter writer(dir / "b", {{DType::int64, {}}});
  write(writer, INT64_MAX, {Tensor::zeros({}, DType::int64)});  // takes no memory for the others
  EXPECT_THROW(writer.finish(), ValueError);
}

TEST(Shards, RefuseOptionsThatCannotBe) {
  TempDir dir;
  EXPECT_THROW(ShardWriter(dir / "a", kSpec, {.names = {"one"}}), ValueError);
  EXPECT_THROW(ShardWriter(dir / "a", kSpec, {.fingerprint = "\xff"}), ValueError);
  EXPECT_FALSE(local_files().exists(dir / "a"));
}

TEST(Shards, LeaveForeignDirectoriesAlone) {
  TempDir dir;
  dir.write("a/thesis.txt", "do not lose me");
  EXPECT_THROW(ShardWriter(dir / "a", kSpec), FileError);
  dir.write("file", "");
  EXPECT_THROW(ShardWriter(dir / "file", kSpec), FileError);
  EXPECT_EQ(read_text(dir / "a/thesis.txt"), "do not lose me");
}

TEST(Shards, WithoutFinishLeaveNothing) {
  TempDir dir;
  {
    ShardWriter writer(dir / "a", kSpec, {.shard_bytes = 100});
    for (int64_t index = 0; index < 5; ++index) write(writer, index, element(index));
    EXPECT_EQ(names_in(dir / "a").size(), 6U);  // with the lock
    EXPECT_FALSE(shards_exist(dir / "a"));
    EXPECT_THROW(ShardReader(dir / "a"), FileError);
  }
  EXPECT_FALSE(local_files().exists(dir / "a"));
}

TEST(Shards, OfAnEarlierWriterStayUntilTheNextFinishes) {
  TempDir dir;
  write_elements(dir / "a", 3);
  ShardReader old(dir / "a");
  {
    ShardWriter unfinished(dir / "a", kSpec);
    write(unfinished, 0, element(9));
  }
  EXPECT_EQ(read_all(dir / "a"), elements(3));
  write_elements(dir / "a", 5);
  EXPECT_EQ(read_all(dir / "a"), elements(5));
  EXPECT_EQ(names_in(dir / "a"),
            (std::vector<std::string>{"data-0001-00000.shard", "manifest.json"}));
  EXPECT_EQ(tensors_of(old.read(2)), element(2));  // still mapped
}

TEST(Shards, LeftoversAreRemovedByTheNextWriter) {
  TempDir dir;
  write_elements(dir / "a", 3);
  dir.write("a/data-0007-00000.shard", "half");
  dir.write("a/manifest.json.123-0.stoker-tmp", "half");
  ShardWriter writer(dir / "a", kSpec);
  EXPECT_EQ(names_in(dir / "a"),
            (std::vector<std::string>{".lock", "data-0000-00000.shard", "manifest.json"}));
  EXPECT_EQ(read_all(dir / "a"), elements(3));
}

TEST(Shards, AreReplacedEvenWhenTheirManifestIsDamaged) {
  TempDir dir;
  write_elements(dir / "a", 3);
  dir.write("a/manifest.json", "{}");
  write_elements(dir / "a", 4);
  EXPECT_EQ(read_all(dir / "a"), elements(4));
  EXPECT_EQ(names_in(dir / "a").size(), 2U);
}

TEST(Shards, AreReadFromManyThreads) {
  TempDir dir;
  write_elements(dir / "a", 64, {.shard_bytes = 1'000});
  ShardReader reader(dir / "a");
  std::atomic<int> wrong = 0;
  auto work = [&](uint64_t seed) {
    Rng rng(seed);
    ShardRecord record;
    for (int step = 0; step < 500; ++step) {
      int64_t index = rng.integer(0, 64);
      reader.read(index, record);
      if (tensors_of(record) != element(index)) ++wrong;
    }
  };
  { std::jthread first(work, 1), second(work, 2); }
  EXPECT_EQ(wrong, 0);
}

TEST(ShardManifests, AreWrittenAndReadBack) {
  ShardManifest manifest{.spec = {{DType::uint8, {-1, 28}}, {DType::bytes, {}}},
                         .names = {"image", "text"},
                         .fingerprint = "f",
                         .elements = 7,
                         .shards = {{"data-0000-00000.shard", 1'000, 7, 0x12ab}}};
  EXPECT_EQ(
      make_manifest(manifest),
      R"({"format":"stoker-shards","version":1,"elements":7,"fingerprint":"f","components":[)"
      R"({"dtype":"uint8","shape":[-1,28],"name":"image"},{"dtype":"bytes","shape":[],"name":"text"}],)"
      R"("shards":[{"file":"data-0000-00000.shard","bytes":1000,"records":7,"crc32c":"000012ab"}],)"
      R"("crc32c":"f85d3420"})"
      "\n");
  ShardManifest back = parse_manifest(make_manifest(manifest));
  EXPECT_EQ(back.spec, manifest.spec);
  EXPECT_EQ(back.shards[0].crc, 0x12abU);
}

TEST(ShardManifests, NameOnlyFilesInTheirDirectory) {
  for (const char* file : {"../data-0000-00000.shard", "/etc/passwd", "data-0000-00000.shard/",
                           "data-0-0.shard", "", "data-+000-00000.shard"}) {
    std::string text = make_manifest({.elements = 1, .shards = {{file, 1, 1, 1}}});
    EXPECT_THROW(parse_manifest(text), ValueError) << file;
  }
}

}  // namespace
}  // namespace stoker
