// cache(path): when it is used, when it is rebuilt, and who writes it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>

#include "elements.h"
#include "formats/shards.h"
#include "support/temp_dir.h"

namespace stoker::data {
namespace {

namespace fs = std::filesystem;

class FileCache : public testing::Test {
 protected:
  // One run of a program: what it saw, and what was said to the user.
  struct Seen {
    Integers values;
    std::string said;
  };
  Seen run(const Dataset& dataset, std::optional<uint64_t> seed = {}) const {
    std::ostringstream out;
    Context context{.out = &out};
    if (seed) context.seed.set(*seed);
    Seen seen;
    Iterator walk = dataset.iterate({.context = &context});
    while (const Batch* element = walk.next())
      seen.values.push_back((*element)[0].data<int64_t>()[0]);
    seen.said = out.str();
    return seen;
  }
  // Elements are the numbers in files.
  Dataset numbers() const {
    return files(folder_ / "data/*.txt").map(read_file()).map([](const std::string& text) {
      return int64_t(std::stoll(text));
    });
  }
  void write(const std::string& name, const std::string& text) const {
    folder_.write("data/" + name, text);
  }
  std::string cache() const { return folder_ / "cache"; }

  test::TempDir folder_;
};

TEST_F(FileCache, IsCompleteAfterOneEpoch) {
  std::atomic<int> calls = 0;
  auto counted = [&calls](int64_t x) { return ++calls, 3 * x; };
  auto cached = [&] { return range(20).map(counted).cache(cache()); };
  Dataset first = cached();
  Integers values = integers(first);
  EXPECT_EQ(calls, 20);
  EXPECT_EQ(integers(first), values);
  EXPECT_EQ(integers(cached()), values) << "also in another program";
  EXPECT_EQ(calls, 20);
}

TEST_F(FileCache, KeepsStreams) {
  Dataset odd = range(9).filter([](int64_t x) { return x % 2 == 1; }).cache(cache());
  EXPECT_EQ(integers(odd), (Integers{1, 3, 5, 7}));
  EXPECT_EQ(integers(odd), (Integers{1, 3, 5, 7}));
  EXPECT_EQ(integers(load(cache())), (Integers{1, 3, 5, 7}));
}

TEST_F(FileCache, LeavesNothingWhenItWasNotCompleted) {
  {
    Dataset cached = range(1000).cache(cache()).prefetch(0);
    Iterator walk = cached.iterate();
    walk.next();
  }
  EXPECT_THROW(load(cache()), FileError);
  EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(FileCache, NeedsNoSeedWhereNothingIsRandom) {
  EXPECT_EQ(run(range(5).cache(cache())).said, "");
  Seen second = run(range(5).cache(cache()));  // another context, another drawn seed
  EXPECT_EQ(second.values, (Integers{0, 1, 2, 3, 4}));
  EXPECT_EQ(second.said, "");
}

TEST_F(FileCache, IsRebuiltWhenAFileChanged) {
  write("a.txt", "1");
  write("b.txt", "2");
  EXPECT_EQ(run(numbers().cache(cache())).values, (Integers{1, 2}));
  EXPECT_EQ(run(numbers().cache(cache())).said, "");
  write("b.txt", "20");
  Seen changed = run(numbers().cache(cache()));
  EXPECT_EQ(changed.values, (Integers{1, 20}));
  EXPECT_EQ(changed.said, "cache " + cache() + " is rebuilt: 1 file changed (" +
                              (folder_ / "data/b.txt") + ")\n");
  EXPECT_EQ(run(numbers().cache(cache())).said, "") << "it was rebuilt once";
}

TEST_F(FileCache, IsRebuiltWhenFilesOfTheSameSizeAndTimeChangePlaces) {
  write("a.txt", "1");
  write("b.txt", "2");
  fs::last_write_time(folder_ / "data/b.txt", fs::last_write_time(folder_ / "data/a.txt"));
  run(numbers().cache(cache()));
  fs::rename(folder_ / "data/a.txt", folder_ / "data/c");
  fs::rename(folder_ / "data/b.txt", folder_ / "data/a.txt");
  fs::rename(folder_ / "data/c", folder_ / "data/b.txt");
  Seen swapped = run(numbers().cache(cache()));
  EXPECT_EQ(swapped.values, (Integers{2, 1}));
  EXPECT_NE(swapped.said.find("2 files changed (first: "), std::string::npos) << swapped.said;
}

TEST_F(FileCache, IsRebuiltWhenFilesComeAndGo) {
  write("a.txt", "1");
  write("b.txt", "2");
  run(numbers().cache(cache()));
  fs::remove(folder_ / "data/a.txt");
  write("c.txt", "3");
  Seen seen = run(numbers().cache(cache()));
  EXPECT_EQ(seen.values, (Integers{2, 3}));
}

TEST_F(FileCache, IsRebuiltWhenClassesAreGivenInAnotherOrder) {
  folder_.write("data/cat/1.jpg", "x");
  folder_.write("data/dog/1.jpg", "y");
  auto labels = [&](const std::vector<std::string>& classes) {
    return image_folder(folder_ / "data", {.class_names = classes})
        .map([](const std::string& bytes, int64_t label) { return bytes == "x" ? label : -label; })
        .cache(cache());
  };
  EXPECT_EQ(run(labels({"cat", "dog"})).values, (Integers{0, -1}));
  Seen swapped = run(labels({"dog", "cat"}));
  EXPECT_EQ(swapped.values, (Integers{0, 1}));
  EXPECT_NE(swapped.said.find("dog, cat"), std::string::npos) << swapped.said;
}

TEST_F(FileCache, IsRebuiltWhenAnArrayInMemoryChanged) {
  auto rows = [&](int64_t last) {
    return from_slices(Tensor::from<int64_t>({1, 2, last}, {3})).cache(cache());
  };
  EXPECT_EQ(run(rows(3)).values, (Integers{1, 2, 3}));
  Seen changed = run(rows(4));
  EXPECT_EQ(changed.values, (Integers{1, 2, 4}));
  EXPECT_NE(changed.said.find("from_slices"), std::string::npos) << changed.said;
}

TEST_F(FileCache, IsRebuiltWhenAnOptionOfAStepChanged) {
  auto picture = Tensor::full({1, 2, 2, 1}, 4.0);
  auto scaled = [&](double factor) {
    return from_slices(picture)
        .map(image::normalize({0}, {factor}))
        .map([](const Tensor& x) { return int64_t(x.at(0)); })
        .cache(cache(), {.version = "1"});
  };
  EXPECT_EQ(run(scaled(1)).values, (Integers{4}));
  EXPECT_EQ(run(scaled(0.5)).values, (Integers{8}));
  auto taken = [&](int64_t count) { return range(9).take(count).cache(cache()); };
  run(taken(3));
  EXPECT_NE(run(taken(4)).said.find("step 2 is take(4), it was take(3)"), std::string::npos);
}

TEST_F(FileCache, IsRebuiltWithAnotherVersion) {
  auto times = [&](int64_t factor, const std::string& version) {
    return range(3)
        .map([factor](int64_t x) { return factor * x; })
        .cache(cache(), {.version = version});
  };
  EXPECT_EQ(run(times(2, "a")).values, (Integers{0, 2, 4}));
  EXPECT_EQ(run(times(2, "a")).said, "");
  Seen changed = run(times(3, "b"));
  EXPECT_EQ(changed.values, (Integers{0, 3, 6}));
  EXPECT_NE(changed.said.find("its version is \"b\", it was \"a\""), std::string::npos);
}

TEST_F(FileCache, IsRebuiltWithAnotherFunctionThatHasNoVersion) {
  run(range(3).map([](int64_t x) { return x + 1; }).cache(cache()));
  Seen changed = run(range(3).map([](int64_t x) { return x + 2; }).cache(cache()));
  EXPECT_EQ(changed.values, (Integers{2, 3, 4}));
  EXPECT_NE(changed.said.find(".version"), std::string::npos) << changed.said;
}

TEST_F(FileCache, OfSomethingRandomBelongsToItsSeed) {
  auto shuffled = [&] { return range(50).shuffle().cache(cache()); };
  Integers first = run(shuffled(), 1).values;
  Seen same = run(shuffled(), 1);
  EXPECT_EQ(same.values, first);
  EXPECT_EQ(same.said, "");
  Seen other = run(shuffled(), 2);
  EXPECT_NE(other.values, first);
  EXPECT_NE(other.said.find("the seed is 2, it was 1"), std::string::npos) << other.said;
  Seen drawn = run(shuffled());
  EXPECT_NE(drawn.said.find("set_seed()"), std::string::npos) << drawn.said;
}

TEST_F(FileCache, OfAnOlderStokerIsRebuilt) {
  {
    ShardWriter old(cache(), {{DType::int64, {}}, {DType::int64, {}}},
                    {.fingerprint = "0123456789abcdef"});
    int64_t value = 77;
    ConstTensorView view{DType::int64, {}, &value};
    old.write(0, std::vector{view, view});
    old.finish();
  }
  Seen seen = run(range(1).cache(cache()));
  EXPECT_EQ(seen.values, (Integers{0}));
  EXPECT_NE(seen.said.find("another version of Stoker"), std::string::npos) << seen.said;
}

TEST_F(FileCache, ThatIsDamagedIsRebuilt) {
  run(range(100).cache(cache()));
  for (const auto& entry : fs::directory_iterator(cache()))
    if (entry.path().extension() == ".shard") {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(64 + 16 * 50);
      file.write("damaged!", 8);
    }
  Dataset again = range(100).cache(cache());
  Seen seen = run(again);
  EXPECT_EQ(seen.values, run(range(100)).values);
  EXPECT_NE(seen.said.find("is damaged"), std::string::npos) << seen.said;
  fs::resize_file(cache() + "/manifest.json", 10);
  seen = run(range(100).cache(cache()));
  EXPECT_EQ(seen.values.size(), 100U);
  EXPECT_NE(seen.said.find("is damaged"), std::string::npos) << seen.said;
}

TEST_F(FileCache, RefusesAFolderOfOtherThings) {
  folder_.write("cache/thesis.tex", "");
  EXPECT_NE(message_of([&] { run(range(3).cache(cache())); }).find("thesis.tex"),
            std::string::npos);
  EXPECT_THROW(range(3).cache(""), ValueError);
}

TEST_F(FileCache, IsDoneWithoutWhereItCannotBeWritten) {
  folder_.write("file", "");
  Seen seen = run(range(3).cache("/proc/stoker/cache"));
  EXPECT_EQ(seen.values, (Integers{0, 1, 2}));
  EXPECT_NE(seen.said.find("cannot be written"), std::string::npos) << seen.said;
}

TEST_F(FileCache, IsDoneWithoutOnAFullDisk) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Seen seen = run(range(3000).cache(cache()));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(seen.values.size(), 3000U);
  EXPECT_NE(seen.said.find("cannot be written"), std::string::npos) << seen.said;
  EXPECT_EQ(run(range(3000).cache(cache())).said, "") << "the path stays usable";
  EXPECT_TRUE(shards_exist(cache()));
}

TEST_F(FileCache, OfAnotherThatIsWritingIsWaitedForWithoutWaiting) {
  Dataset one = range(100).cache(cache()).prefetch(0), two = range(100).cache(cache()).prefetch(0);
  Iterator writing = one.iterate();
  writing.next();
  std::ostringstream out;
  Context context{.out = &out};
  Iterator other = two.iterate({.epochs = 2, .context = &context});
  Integers first, second;
  while (const Batch* element = other.next()) first.push_back((*element)[0].data<int64_t>()[0]);
  EXPECT_EQ(first.size(), 100U);
  EXPECT_FALSE(shards_exist(cache()));
  EXPECT_NE(out.str().find("is in use by process"), std::string::npos) << out.str();
  while (writing.next() != nullptr) {
  }
  EXPECT_TRUE(shards_exist(cache()));
  while (const Batch* element = other.next()) second.push_back((*element)[0].data<int64_t>()[0]);
  EXPECT_EQ(second, first);
  EXPECT_NE(out.str().find("is complete"), std::string::npos) << out.str();
}

TEST_F(FileCache, IsSharedByProcessesThatBeginTogether) {
  auto shuffled = [&] {
    return range(2000).map([](int64_t x) { return 2 * x; }).cache(cache()).shuffle();
  };
  std::vector<pid_t> children;
  for (int child = 0; child < 3; ++child) {
    pid_t pid = fork();
    if (pid == 0) {
      bool good = false;
      try {
        Dataset dataset = shuffled();
        good = true;
        for (int epoch = 0; epoch < 3; ++epoch) {
          Integers values = run(dataset).values;
          std::sort(values.begin(), values.end());
          good = good && values.size() == 2000 && values.back() == 3998;
        }
      } catch (...) {
        good = false;
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_EQ(run(shuffled()).said, "");
  EXPECT_TRUE(shards_exist(cache()));
  EXPECT_FALSE(fs::exists(cache() + "/.lock"));
}

TEST_F(FileCache, OfAProcessThatWasKilledIsWrittenByTheNext) {
  pid_t pid = fork();
  if (pid == 0) {
    Dataset cached = range(1000).cache(cache()).prefetch(0);
    Iterator walk = cached.iterate();
    for (int i = 0; i < 500; ++i) walk.next();
    kill(getpid(), SIGKILL);
  }
  waitpid(pid, nullptr, 0);
  Seen seen = run(range(1000).cache(cache()));
  EXPECT_EQ(seen.values.size(), 1000U);
  EXPECT_EQ(seen.said, "");
  EXPECT_TRUE(shards_exist(cache()));
}

TEST(Shards, AreWrittenByOneAtATime) {
  test::TempDir folder;
  ShardWriter first(folder / "shards", {{DType::int64, {}}});
  EXPECT_NE(message_of([&] { range(3).save(folder / "shards"); }).find("one writer at a time"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker::data
