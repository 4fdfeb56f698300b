// A backend that nothing but the registry knows of: everything asks for its traits.
#include <gtest/gtest.h>

#include <sstream>

#include "support/fake_devices.h"
#include "support/temp_dir.h"
#include "train/helpers.h"
#include "train/model/weights_hash.h"
#include "train/step/program_cache.h"

namespace stoker::test {

namespace {

constexpr BackendTraits kTraits{.name = "npu",
                                .title = "NPU",
                                .numbered = true,
                                .own_memory = true,
                                .half_products = true,
                                .lanes = 1};

// The weights after some epochs on a device, with a pipeline, validation and a checkpoint.
std::string trained_on(const std::string& device, const std::string& folder) {
  OnDevice on(device, 7);
  Sequential model({Input({4}), Dense(8, {.activation = "relu"}), Dropout(0.2),
                    Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  Data data = blobs(48, 4, 3, 5);
  auto batches = data::from_slices({data.x, data.y}).shuffle().batch(8);
  model.fit(batches, {.epochs = 3,
                      .validation_data = ValidationData(data.x, data.y),
                      .verbose = 0,
                      .callbacks = {BackupAndRestore(folder)}});
  EXPECT_EQ(model.run_plan().backend, device == "npu:1" ? "npu" : device);
  EXPECT_EQ(model.predict(data.x).shape(), Shape({48, 3}));
  return weights_sha256(model);
}

TEST(ThirdBackend, TrainsValidatesSavesAndPredicts) {
  FakeFamily npu(kTraits, 2);
  TempDir folder;
  EXPECT_EQ(trained_on("npu:1", folder / "npu"), trained_on("reference", folder / "reference"));
  EXPECT_EQ(npu.backends[0]->compiled, 0);
  EXPECT_GT(npu.backends[1]->compiled, 0);
}

TEST(ThirdBackend, IsListedAndChosenLikeAGpu) {
  size_t before = list_devices().size();
  FakeFamily npu(kTraits, 2);
  std::vector<DeviceDescription> devices = list_devices();
  ASSERT_EQ(devices.size(), before + 2);
  EXPECT_EQ(devices.back().name, "npu:1");
  EXPECT_EQ(devices.back().description, "Fake device");
}

TEST(ThirdBackend, SaysOnlyTheSettingsThatItDoesNotHave) {
  FakeFamily npu(kTraits, 1);
  std::ostringstream said;
  Context context{.device = "npu",
                  .policy = "mixed_bfloat16",
                  .tf32 = true,
                  .memory_limit = 1000,
                  .memory_growth = false,
                  .out = &said};
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse", .context = &context});
  EXPECT_EQ(said.str(), "tf32: for GPUs alone; without effect on the engine \"npu\"\n");
  EXPECT_EQ(&engine_of(context), npu.backends[0].get());
}

TEST(ThirdBackend, RoundsFloat32ProductsOfAMixedPolicyUnlessToldNotTo) {
  BackendTraits traits = kTraits;
  traits.tf32 = true;
  FakeFamily npu(traits, 1);
  auto compiled_with = [](const Context& context) { return compile_options(context).tf32; };
  EXPECT_FALSE(compiled_with({.device = "npu"}));
  EXPECT_TRUE(compiled_with({.device = "npu", .tf32 = true}));
  EXPECT_TRUE(compiled_with({.device = "npu", .policy = "mixed_bfloat16"}));
  EXPECT_FALSE(compiled_with({.device = "npu", .policy = "mixed_bfloat16", .tf32 = false}));
  EXPECT_FALSE(compiled_with({.device = "cpu", .policy = "mixed_bfloat16"}));
}

TEST(ThirdBackend, SaysInItsRunPlanHowFloat32ProductsAreRounded) {
  BackendTraits traits = kTraits;
  traits.tf32 = true;
  FakeFamily npu(traits, 1);
  auto precision = [](Context context) {
    context.device = "npu";
    context.out = nullptr;
    Sequential model({Input({2}), Dense(1)});
    model.compile({.optimizer = "sgd", .loss = "mse", .context = &context});
    return model.run_plan().precision;
  };
  EXPECT_EQ(precision({}), "float32");
  EXPECT_EQ(precision({.tf32 = true}), "tf32");
  EXPECT_EQ(precision({.policy = "mixed_bfloat16"}), "mixed_bfloat16");
  EXPECT_EQ(precision({.policy = "mixed_bfloat16", .tf32 = false}), "mixed_bfloat16 without tf32");
}

}  // namespace

}  // namespace stoker::test
