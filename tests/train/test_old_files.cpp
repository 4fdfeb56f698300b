// Files that earlier versions wrote: data/README.md.
#include <filesystem>

#include <stoker/weights.h>

#include "formats/safetensors.h"
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::OnDevice;

const std::string kFolder = std::string(STOKER_TEST_SOURCE_DIR) + "/train/data/0.1/";

class FilesOf01 : public testing::Test {
 protected:
  FilesOf01() {
    for (int64_t i = 0; i < x_.elements(); ++i)
      x_.data_mut<float>()[i] = float(i % 7) * 0.25F - 0.5F;
    for (int64_t i = 0; i < 12; ++i) y_.data_mut<int32_t>()[i] = int32_t(i % 2);
  }
  // The same as the program that wrote the files.
  static Model make() {
    Value a = Input({3}, {.name = "a"});
    Dense shared(4, {.activation = "relu", .name = "shared"});
    Value joined = shared(a) + shared(a * 2.0) + Tensor::full({4}, 0.5);
    Sequential head({Input({4}), Dropout(0.1), Dense(2, {.activation = "softmax"})},
                    {.name = "head"});
    Model model(a, head(joined), {.name = "two"});
    model.compile({.optimizer = Adam({.learning_rate = 0.02}),
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"}});
    return model;
  }
  static std::vector<Tensor> after_four_epochs() {
    Model model = make();
    model.load_weights(kFolder + "after_four_epochs.safetensors");
    return model.get_weights();
  }

  OnDevice device_{"reference", 7};
  Tensor x_{DType::float32, {12, 3}}, y_{DType::int32, {12}};
  FitArgs args_{.epochs = 4, .batch_size = 4, .verbose = 0};
};

TEST_F(FilesOf01, HaveNoChecksumsAndLoad) {
  EXPECT_FALSE(read_safetensors(kFolder + "after_two_epochs.stoker").checksums);
  Model model = load_model(kFolder + "after_two_epochs.stoker");
  EXPECT_TRUE(model.compiled());
  args_.initial_epoch = 2;
  model.fit(x_, y_, args_);
  EXPECT_EQ(model.get_weights(), after_four_epochs());
}

TEST_F(FilesOf01, GiveTheirWeightsByNameToo) {
  Model model = make();
  load_weights_by_name(model, kFolder + "after_four_epochs.safetensors");
  EXPECT_EQ(model.get_weights(), after_four_epochs());
}

TEST_F(FilesOf01, ThatAreCheckpointsAreResumed) {
  test::TempDir dir;
  std::filesystem::copy(kFolder + "checkpoints", dir / "c",
                        std::filesystem::copy_options::recursive);
  // The library's version is one of the differences.
  BackupAndRestore backup(dir / "c", {.allow_differences = true});
  args_.callbacks = {backup};
  Model model = make();
  model.fit(x_, y_, args_);
  EXPECT_EQ(backup.resumed_from(), (dir / "c") + "/ckpt-000002-000000001");
  EXPECT_EQ(model.get_weights(), after_four_epochs());
  EXPECT_EQ(model.history().epochs().size(), 4U);
}

}  // namespace
}  // namespace stoker
