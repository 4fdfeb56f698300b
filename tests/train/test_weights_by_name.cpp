#include <sstream>

#include <stoker/safetensors.h>
#include <stoker/weights.h>

#include "base/file.h"
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker::test {
namespace {

using Strings = std::vector<std::string>;

Model classifier(int64_t classes) {
  return Sequential({Input({4}), Dense(3, {.name = "body"}), Dense(classes, {.name = "head"})});
}

Tensor weight(const Model& model, std::string_view layer, size_t index) {
  return model.get_layer(layer).get_weights()[index];
}

TEST(WeightsByName, AreTakenFromAnotherModelAsFarAsTheyFit) {
  OnDevice device;
  TempDir dir;
  Model trained = classifier(10), model = classifier(2);
  trained.save_weights(dir / "w");
  Tensor head = weight(model, "head", 0);
  LoadByNameResult result = load_weights_by_name(model, dir / "w", {.skip_mismatch = true});
  EXPECT_EQ(result.loaded, (Strings{"body/kernel", "body/bias"}));
  EXPECT_EQ(result.mismatched, (Strings{"head/kernel", "head/bias"}));
  EXPECT_EQ(weight(model, "body", 0), weight(trained, "body", 0));
  EXPECT_EQ(weight(model, "head", 0), head);
}

TEST(WeightsByName, ThatDoNotFitAreAnErrorAndChangeNothing) {
  OnDevice device;
  TempDir dir;
  Model trained = classifier(10), model = classifier(2);
  trained.save(dir / "m");
  Tensor body = weight(model, "body", 0);
  std::string text = error_of<FileError>([&] { load_weights_by_name(model, dir / "m"); });
  EXPECT_TRUE(says(text, {"tensor \"head/kernel\" is float32[3, 10], the model's is float32[3, 2]",
                          ".skip_mismatch"}));
  EXPECT_EQ(weight(model, "body", 0), body);
}

TEST(WeightsByName, OfWhichNoneFitsAreAnError) {
  OnDevice device;
  TempDir dir;
  Model model = classifier(2);
  save_safetensors(dir / "w", {{"net.body.weight", Tensor::zeros({4, 3})}});
  std::string text = error_of<FileError>([&] { load_weights_by_name(model, dir / "w"); });
  EXPECT_TRUE(says(text, {"0 of the model's 4 weights", "body/kernel", "net.body.weight"}));
  save_safetensors(dir / "w", {{"body/kernel", Tensor::zeros({9})}});
  text =
      error_of<FileError>([&] { load_weights_by_name(model, dir / "w", {.skip_mismatch = true}); });
  EXPECT_TRUE(says(text, {"0 of", "tensor \"body/kernel\" is float32[9]", "float32[4, 3]"}));
  save_safetensors(dir / "w", {});
  EXPECT_THROW(load_weights_by_name(model, dir / "w"), FileError);
}

TEST(WeightsByName, ThatAreNotAllAreListedInAMessage) {
  OnDevice device;
  TempDir dir;
  std::ostringstream out;
  default_context().out = &out;
  Model trained = classifier(10), model = classifier(2);
  trained.save_weights(dir / "w");
  load_weights_by_name(trained, dir / "w");
  load_weights_by_name(model, dir / "w", {.skip_mismatch = true, .verbose = 0});
  EXPECT_EQ(out.str(), "");
  load_weights_by_name(model, dir / "w", {.skip_mismatch = true});
  EXPECT_TRUE(says(out.str(), {"2 of the model's 4 weights loaded", "head/kernel", "[3, 10]",
                               "[3, 2]", "head/bias"}));
}

TEST(WeightsByName, OfADamagedFileAreRefused) {
  OnDevice device;
  TempDir dir;
  Model model = classifier(2);
  model.save_weights(dir / "w");
  std::string bytes = read_text(dir / "w");
  bytes.back() ^= 1;
  write_file_atomically(dir / "w", bytes);
  EXPECT_TRUE(says(error_of<FileError>([&] { load_weights_by_name(model, dir / "w"); }),
                   {"head/bias", "damaged"}));
}

TEST(WeightsByName, OfOthersAreNotTakenByLoadWeights) {
  OnDevice device;
  TempDir dir;
  save_safetensors(dir / "w", {{"body/kernel", Tensor::zeros({4, 3})}});
  EXPECT_TRUE(says(error_of<FileError>([&] { classifier(2).load_weights(dir / "w"); }),
                   {"load_weights_by_name"}));
}

TEST(WeightsByName, MayComeFromAnybodyAndInAnyFloat) {
  OnDevice device;
  TempDir dir;
  Model model = classifier(2);
  save_safetensors(dir / "w", {{"body/kernel", Tensor::full({4, 3}, 0.5, DType::bfloat16)},
                               {"body/bias", Tensor::full({3}, 1, DType::int32)},
                               {"other", Tensor::zeros({2})}});
  LoadByNameResult result = load_weights_by_name(model, dir / "w", {.skip_mismatch = true});
  EXPECT_EQ(result.loaded, Strings{"body/kernel"});
  EXPECT_EQ(result.mismatched, Strings{"body/bias"});
  EXPECT_EQ(result.missing, (Strings{"head/kernel", "head/bias"}));
  EXPECT_EQ(result.unused, Strings{"other"});
  EXPECT_EQ(weight(model, "body", 0), Tensor::full({4, 3}, 0.5));
}

}  // namespace
}  // namespace stoker::test
