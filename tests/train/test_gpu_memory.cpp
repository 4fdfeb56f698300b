// How much of a GPU a program may hold, and what it says when that is too little. A GPU's memory is
// divided once in a process: each of these tests has one of its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <sstream>
#include <string_view>

#include "support/program.h"
#include "train/helpers.h"
#include "train/model/settings.h"
#include "train/model/weights_hash.h"
#include "train/step/program_cache.h"

namespace stoker::test {

namespace {

constexpr size_t kMiB = size_t(1) << 20;

bool is_child() { return std::getenv("STOKER_TEST_ALONE") != nullptr; }

class GpuMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; !is_child() && !is_usable("cuda", &why)) GTEST_SKIP() << why;
  }

  // True in a process that runs this test alone. Elsewhere it starts one, with these settings in
  // its environment, and expects it to succeed.
  static bool alone(const std::string& settings = "") {
    if (is_child()) return true;
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    Ended child =
        run_program("env " + without_test_settings() + " STOKER_TEST_ALONE=1 " + settings + " '" +
                        program + "'",
                    std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name());
    EXPECT_EQ(child.status, 0) << child.out << child.err;
    EXPECT_TRUE(says(child.out, {"[       OK ]"}));
    return false;
  }

 private:
  // What tells this process which tests to run, and where to write of them, is not for the child.
  static std::string without_test_settings() {
    std::string options;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      std::string_view setting = *entry;
      if (setting.starts_with("GTEST_"))
        options += " -u " + std::string(setting.substr(0, setting.find('=')));
    }
    return options;
  }
};

Data pictures(int64_t count) {
  Tensor x(DType::uint8, {count, 64, 64, 3}), y(DType::int32, {count});
  Rng rng(5);
  auto* pixels = x.data_mut<uint8_t>();
  for (int64_t i = 0; i < x.elements(); ++i) pixels[i] = uint8_t(rng.integer(0, 256));
  for (int64_t i = 0; i < count; ++i) y.data_mut<int32_t>()[i] = int32_t(i % 4);
  return {x, y};
}

// About a megabyte of activations a sample.
Sequential wide_model(Context& context) {
  context.device = "cuda";
  context.out = nullptr;
  default_context().out = nullptr;
  set_seed(1);
  context.seed.set(1);
  Sequential model({Input({64, 64, 3}, {.dtype = DType::uint8}), Rescaling(1.0 / 255),
                    Conv2D(32, 3, {.activation = "relu"}), MaxPooling2D(), Flatten(),
                    Dense(4, {.activation = "softmax"})});
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .context = &context});
  return model;
}

std::string trained(Context& context) {
  Sequential model = wide_model(context);
  Data data = pictures(40);
  model.fit(data.x, data.y, {.epochs = 2, .batch_size = 16});
  return weights_sha256(model);
}

DeviceCounts counts(const Context& context) {
  return engine_of(context).compile(Graph(), compile_options(context))->device_counts();
}

TEST_F(GpuMemory, AProgramThatDoesNotFitSaysWhatTakesItAndWhichBatchWould) {
  if (!alone()) return;
  constexpr int64_t kPlanned = 1024;
  Context context{.seed = 1, .memory_limit = 256 * kMiB};
  Sequential model = wide_model(context);
  Data data = pictures(kPlanned);
  std::string text =
      error_of<OutOfMemoryError>([&] { model.fit(data.x, data.y, {.batch_size = kPlanned}); });
  std::cout << text << "\n";
  EXPECT_TRUE(says(text, {"out of memory on", "activations, gradients and workspace",
                          "of the 256.0 MiB it may", "this program needs", "weights", "gradients",
                          "activations", "inputs", "in all", "at batch size 1024;", "would fit"}));
  size_t at = text.rfind("; ");
  ASSERT_NE(at, std::string::npos);
  int64_t fits = std::atoll(text.c_str() + at + 2);
  ASSERT_GT(fits, 0) << text;
  EXPECT_LT(fits, kPlanned);
  // The advice is good, and the error left nothing behind.
  model.fit(data.x, data.y, {.batch_size = fits, .steps_per_epoch = 2});
  EXPECT_LE(counts(context).bytes, 256 * kMiB);
  std::cout << fits << " fit: " << double(counts(context).bytes) / double(kMiB) << " MiB\n";
}

TEST_F(GpuMemory, AModelThatDoesNotFitAtAllSaysSo) {
  if (!alone()) return;
  Context context{.seed = 1, .memory_limit = kMiB};
  Sequential model = wide_model(context);
  Data data = pictures(8);
  std::string text =
      error_of<OutOfMemoryError>([&] { model.fit(data.x, data.y, {.batch_size = 8}); });
  std::cout << text << "\n";
  EXPECT_TRUE(says(text, {"out of memory on", "of the 1.0 MiB it may", "this program needs",
                          "weights", "optimizer", "activations", "in all"}));
}

TEST_F(GpuMemory, AnAutomaticBatchStaysWithinTheLimit) {
  if (!alone()) return;
  Context context{.seed = 1, .memory_limit = 256 * kMiB};
  Sequential model = wide_model(context);
  AutoBatch chosen = measure_batch_size(model, {.largest = 1024});
  std::cout << chosen.text();
  int64_t batch = chosen.batch;
  EXPECT_GT(batch, 8);
  EXPECT_LT(batch, 1024);
  Data data = pictures(batch);
  model.fit(data.x, data.y, {.batch_size = batch});
  EXPECT_LE(counts(context).bytes, 256 * kMiB);
}

TEST_F(GpuMemory, AFractionIsALimit) {
  if (!alone()) return;
  size_t all = list_devices().at(1).memory;
  Context context{.seed = 1, .memory_fraction = 256.0 * double(kMiB) / double(all)};
  Sequential model = wide_model(context);
  EXPECT_LE(engine_of(context).free_bytes(compile_options(context)), 256 * kMiB);
  Data data = pictures(1024);
  EXPECT_TRUE(
      says(error_of<OutOfMemoryError>([&] { model.fit(data.x, data.y, {.batch_size = 1024}); }),
           {"MiB it may", "would fit"}));
  model.fit(data.x, data.y, {.batch_size = 32, .steps_per_epoch = 2});
  context.memory_fraction = 1.5;
  EXPECT_TRUE(says(error_of<ValueError>([&] { trained(context); }), {"memory_fraction", "1.5"}));
}

TEST_F(GpuMemory, WithoutGrowthAllIsTakenAtOnceAndResultsStay) {
  if (!alone()) return;
  Context whole{.seed = 1, .memory_limit = 512 * kMiB, .memory_growth = false};
  std::string weights = trained(whole);
  EXPECT_EQ(counts(whole).allocations, 1);
  trained(whole);
  EXPECT_EQ(counts(whole).allocations, 1);
  Sequential model = wide_model(whole);
  Data data = pictures(2048);
  EXPECT_TRUE(
      says(error_of<OutOfMemoryError>([&] { model.fit(data.x, data.y, {.batch_size = 2048}); }),
           {"of the 512.0 MiB it may", "would fit"}));
  EXPECT_EQ(trained(whole), weights) << "after an error too";
}

TEST_F(GpuMemory, WithoutGrowthAndWithoutALimitTheLibrariesStillHaveRoom) {
  if (!alone()) return;
  Context whole{.seed = 1, .memory_growth = false};
  trained(whole);
  EXPECT_EQ(counts(whole).allocations, 1);
  size_t all = list_devices().at(1).memory,
         free = engine_of(whole).free_bytes(compile_options(whole));
  EXPECT_GT(double(free), 0.9 * double(all)) << "of the block that was taken";
}

TEST_F(GpuMemory, IsDividedBeforeTheFirstUse) {
  if (!alone()) return;
  set_memory_limit(512 * kMiB);
  set_memory_growth(false);
  default_context().device = "cuda";
  default_context().out = nullptr;
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  Data data = line(16, 1);
  model.fit(data.x, data.y);
  EXPECT_EQ(counts(default_context()).allocations, 1);
  for (const auto& late : {std::function<void()>([] { set_memory_limit(kMiB); }),
                           std::function<void()>([] { set_memory_growth(true); }),
                           std::function<void()>([] { set_visible_devices({"cuda:0"}); })})
    EXPECT_TRUE(says(error_of<Error>(late), {"a GPU is in use already"}));
}

TEST_F(GpuMemory, AGpuThatIsNotVisibleIsNotUsed) {
  if (!alone()) return;
  EXPECT_TRUE(says(error_of<ValueError>([] { set_visible_devices({"cuda:99"}); }), {"cuda:99"}));
  set_visible_devices({"cuda:0"});
  EXPECT_EQ(list_devices().size(), 2U);
  set_visible_devices({"cpu"});
  EXPECT_EQ(list_devices().size(), 1U);
  std::ostringstream said;
  Context context{.out = &said}, explicitly{.device = "cuda"};
  EXPECT_EQ(engine_of(context).name(), "cpu");
  say_settings_without_effect(context);
  EXPECT_TRUE(says(said.str(), {"stands idle: set_visible_devices left no GPU"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { engine_of(explicitly); }), {"set_visible_devices"}));
}

TEST_F(GpuMemory, AnEnvironmentThatHidesAllGpusIsRespected) {
  if (!alone("CUDA_VISIBLE_DEVICES=")) return;
  EXPECT_FALSE(is_usable("cuda"));
  EXPECT_EQ(list_devices().size(), 1U);
  std::ostringstream said;
  Context context{.out = &said};
  EXPECT_EQ(engine_of(context).name(), "cpu");
  for (int again = 0; again < 2; ++again) say_settings_without_effect(context);
  EXPECT_TRUE(says(said.str(), {"CUDA_VISIBLE_DEVICES=\"\" hides every GPU"}));
  EXPECT_EQ(std::ranges::count(said.str(), '\n'), 1) << said.str();
}

TEST_F(GpuMemory, AutoTakesTheGpuAndNamesItInTheFirstLineOfAFit) {
  if (!alone()) return;
  std::ostringstream said;
  Context context{.out = &said};
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse", .context = &context});
  Data data = line(16, 1);
  model.fit(data.x, data.y, {.verbose = 2});
  EXPECT_EQ(engine_of(context).name(), "cuda");
  EXPECT_EQ(said.str().find("device  cuda:0: " + list_devices().at(1).description), 0U)
      << said.str();
}

TEST_F(GpuMemory, AnEnvironmentThatNamesAGpuIsRespected) {
  if (!alone("CUDA_VISIBLE_DEVICES=0")) return;
  EXPECT_EQ(list_devices().size(), 2U);
  Context context{.seed = 1};
  trained(context);
  EXPECT_EQ(engine_of(context).name(), "cuda");
}

}  // namespace

}  // namespace stoker::test
