// The settings of a context: names that do not exist are refused, settings without effect said.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "engine/cuda/cuda_backend.h"
#include "support/cpu_bfloat16.h"
#include "support/fake_devices.h"
#include "support/temp_dir.h"
#include "train/helpers.h"
#include "train/step/program_cache.h"

namespace stoker::test {

namespace {

// What compile() says about a model in this context.
std::string said_by_compile(Context& context, const DenseOptions& options = {}) {
  std::ostringstream said;
  context.out = &said;
  Sequential model({Input({2}), Dense(1, options)});
  model.compile({.optimizer = "sgd", .loss = "mse", .context = &context});
  return said.str();
}

TEST(Settings, RefuseADeviceThatDoesNotExist) {
  for (const char* device : {"cuda:0,cuda:1", "gpu", "cpu:1", "CPU", "tpu", " cuda", "cuda:",
                             "cuda:x", "cuda:-1", "cuda:01", "cuda0", "", "cuda:1234567890123"}) {
    Context context{.device = device, .out = nullptr};
    Sequential model({Input({2}), Dense(1)});
    std::string text = error_of<ValueError>(
        [&] { model.compile({.optimizer = "sgd", .loss = "mse", .context = &context}); });
    EXPECT_TRUE(says(text, {"unknown device", device, "auto, cpu, cuda, cuda:N, reference"}));
    EXPECT_FALSE(model.compiled());
    auto step = function([](Value x) { return x * 2; }, {.context = &context});
    EXPECT_TRUE(says(error_of<ValueError>([&] { step(Tensor::zeros({2})); }), {device}));
  }
}

TEST(Settings, RefuseAGpuBeyondTheLast) {
  Context context{.device = "cuda:99", .out = nullptr};
  EXPECT_TRUE(says(error_of<ValueError>([&] { said_by_compile(context); }), {"\"cuda:99\""}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { engine_of(context); }), {"\"cuda:99\""}));
}

TEST(Settings, RefuseADeviceThatChangesAfterCompile) {
  Context context{.out = nullptr};
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse", .context = &context});
  context.device = "gpu";
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.fit(Tensor::zeros({2, 2}), Tensor::zeros({2, 1}), {.verbose = 0});
                   }),
                   {"unknown device \"gpu\""}));
}

TEST(Settings, RefuseNumbersThatMakeNoSense) {
  Context threads{.threads = {.compute = -1}, .out = nullptr};
  EXPECT_TRUE(says(error_of<ValueError>([&] { said_by_compile(threads); }), {"threads", "-1"}));
  Context memory{.memory_fraction = 1.5, .out = nullptr};
  EXPECT_TRUE(says(error_of<ValueError>([&] { said_by_compile(memory); }), {"memory_fraction"}));
  Context policy{.policy = "mixed_float8", .out = nullptr};
  EXPECT_TRUE(says(error_of<ValueError>([&] { said_by_compile(policy); }), {"mixed_float8"}));
}

TEST(Settings, OfSixteenBitsWithoutEffectAreSaidByEveryCompile) {
  CpuBfloat16 off("off");
  for (const char* policy : {"mixed_bfloat16", "mixed_float16", "mixed_bfloat16"}) {
    Context context{.device = "cpu", .policy = policy};
    for (int again = 0; again < 2; ++again)
      EXPECT_EQ(said_by_compile(context), std::string(policy) + ": this CPU has no products in " +
                                              (policy + 6) + "; training in float32\n");
  }
}

TEST(Settings, OfALayerWithoutEffectAreSaidToo) {
  Context context{.device = "cpu"};
  EXPECT_TRUE(says(said_by_compile(context, {.dtype = "mixed_float16"}), {"mixed_float16: "}));
}

TEST(Settings, OfBfloat16AreFollowedWhereTheCpuMultipliesIt) {
  STOKER_WITH_CPU_BFLOAT16();
  Context context{.device = "cpu", .policy = "mixed_bfloat16"};
  EXPECT_EQ(said_by_compile(context), "");
}

TEST(Settings, ThatHaveAnEffectAreNotMentioned) {
  Context plain{.device = "cpu"}, reference{.device = "reference", .policy = "mixed_bfloat16"};
  EXPECT_EQ(said_by_compile(plain), "");
  EXPECT_EQ(said_by_compile(reference), "");
}

TEST(Settings, OfAGpuAreWithoutEffectOnACpu) {
  Context context{.device = "cpu",
                  .tf32 = true,
                  .memory_fraction = 0.5,
                  .memory_growth = false,
                  .capture = false,
                  .pin = false};
  EXPECT_TRUE(says(said_by_compile(context),
                   {"tf32, memory_fraction, memory_growth, capture, pin: for GPUs alone"}));
}

TEST(Settings, AMemoryLimitHasAnEffectOnEveryEngine) {
  for (const char* device : {"cpu", "reference"}) {
    Context context{.device = device, .memory_limit = 64};
    EXPECT_EQ(said_by_compile(context), "");
    context.out = nullptr;
    auto step = function([](Value x) { return x * 2; }, {.context = &context});
    EXPECT_TRUE(says(error_of<OutOfMemoryError>([&] {
                       step(Tensor::zeros({32, 4}));
                     }),
                     {device, "memory_limit", "at batch size 32; "}));
  }
}

TEST(Settings, RefuseAGpuThatIsNotThere) {
  if (is_usable("cuda")) GTEST_SKIP() << "there is one";
  for (const char* device : {"cuda", "cuda:0"}) {
    Context context{.device = device, .out = nullptr};
    for (const std::function<void()>& use : std::vector<std::function<void()>>{
             [&] { said_by_compile(context); }, [&] { engine_of(context); },
             [&] {
               function([](Value x) { return x * 2; }, {.context = &context})(Tensor::zeros({2}));
             }})
      EXPECT_TRUE(says(error_of<ValueError>(use), {device, "cannot be used: ", "\"auto\""}));
  }
}

TEST(Settings, AutoIsTheCpuWithoutAWordWhereThereIsNoGpu) {
  Context context;
  EXPECT_EQ(context.device, "auto");
  if (is_usable("cuda") || cuda_family().absence().idle) GTEST_SKIP() << "there is one";
  EXPECT_EQ(engine_of(context).name(), "cpu");
  EXPECT_EQ(said_by_compile(context), "");
}

TEST(Settings, AGpuThatStandsIdleIsSaidOnce) {
  if (is_usable("cuda")) GTEST_SKIP() << "one is in use";
  Context first;
  said_by_compile(first);  // what this machine has to say
  FakeFamily fake({.name = "fake", .title = "NPU", .preferred = true}, 0,
                  {.idle = true, .why = "its driver is too old", .advice = "install version 2"});
  Context silent{.out = nullptr}, cpu{.device = "cpu"}, automatic;
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse", .context = &silent});
  EXPECT_EQ(said_by_compile(cpu), "") << "the CPU was asked for";
  EXPECT_EQ(said_by_compile(automatic),
            "This machine's NPU stands idle: its driver is too old. To use it, install version 2; "
            "device = \"cpu\" turns this line off.\n");
  EXPECT_EQ(said_by_compile(automatic), "");
  EXPECT_EQ(fake.looks, 1) << "the machine is looked at once";
}

TEST(Settings, AFitNamesTheDeviceThatAutoTook) {
  if (is_usable("cuda")) GTEST_SKIP() << "it takes the GPU";
  FakeFamily fake({.name = "fake", .numbered = true, .preferred = true, .beside_host = true}, 1);
  std::ostringstream said;
  Context context{.out = &said};
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse", .context = &context});
  Data data = line(8, 1);
  model.fit(data.x, data.y, {.verbose = 2});
  EXPECT_EQ(said.str().find("device  fake:0: Fake device, 8.0 GiB\nEpoch 1/1"), 0U) << said.str();
  EXPECT_GT(fake.backends[0]->compiled, 0);
  said.str("");
  model.fit(data.x, data.y, {.verbose = 0});
  EXPECT_EQ(said.str(), "");
}

TEST(Settings, ARunGoesOnUnderAutoOnTheSameEngine) {
  if (is_usable("cuda")) GTEST_SKIP() << "auto is the GPU";
  TempDir folder;
  Data data = line(32, 1);
  auto epochs = [&](const char* device, int64_t count) {
    OnDevice on(device, 3);
    Sequential model = line_model();
    BackupAndRestore backup(folder / "checkpoints");
    model.fit(data.x, data.y, {.epochs = count, .verbose = 0, .callbacks = {backup}});
    return backup.resumed_from();
  };
  EXPECT_EQ(epochs("cpu", 1), "");
  EXPECT_NE(epochs("auto", 2), "");
  EXPECT_NE(epochs("cpu", 3), "");
  EXPECT_TRUE(says(error_of<Error>([&] { epochs("reference", 4); }), {"reference", "cpu"}));
}

TEST(Settings, AreSaidOnceByAFunctionAndByAModelThatOnlyPredicts) {
  std::ostringstream said;
  Context context{.device = "cpu", .policy = "mixed_float16", .out = &said};
  auto lines = [&] {
    std::string text = said.str();
    return std::count(text.begin(), text.end(), '\n');
  };
  auto step = function([](Value x) { return x * 2; }, {.context = &context});
  step(Tensor::zeros({2}));
  step(Tensor::zeros({3}));
  EXPECT_EQ(lines(), 1) << said.str();
  auto other = function([](Value x) { return x * 2; }, {.context = &context});
  other(Tensor::zeros({2}));
  EXPECT_EQ(lines(), 2) << said.str();
  OnDevice device("cpu");
  default_context().out = &said;
  set_global_policy("mixed_float16");
  Sequential model({Input({2}), Dense(1)});
  model.predict(Tensor::zeros({2, 2}));
  model.predict(Tensor::zeros({3, 2}));
  set_global_policy("float32");
  EXPECT_EQ(lines(), 3) << said.str();
}

TEST(Options, OfArraysAreRefusedBesideBatches) {
  OnDevice device;
  Sequential model = line_model();
  std::vector<Batch> batches = {Batch{Tensor::zeros({2, 2}), Tensor::zeros({2, 1})}};
  std::vector<Batch> inputs = {Batch{Tensor::zeros({2, 2})}};
  for (const std::function<void()>& call : std::vector<std::function<void()>>{
           [&] { model.fit(batches, {.batch_size = 2}); },
           [&] { model.fit(batches, {.shuffle = false}); },
           [&] { model.evaluate(batches, {.batch_size = 2}); },
           [&] { model.evaluate(batches, {.sample_weight = Tensor::zeros({2})}); },
           [&] { model.predict(inputs, {.batch_size = 2}); }})
    EXPECT_TRUE(says(error_of<ValueError>(call), {"is for arrays"}));
}

TEST(Inputs, ThatAnIntegerInputWouldCutAreRefused) {
  OnDevice device;
  Sequential model({Input({2}, {.dtype = DType::uint8}), Rescaling(1.0 / 255), Dense(1)});
  EXPECT_NO_THROW(model.predict(Tensor::from({0.0F, 255.0F}, {1, 2})));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.predict(Tensor::from({0.0, 0.5}, {1, 2}));
                   }),
                   {"0.5", "uint8", "element 1"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.predict(Tensor::from({0, 256}, {1, 2}));
                   }),
                   {"256", "uint8"}));
}

}  // namespace

}  // namespace stoker::test
