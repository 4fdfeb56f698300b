// keras.applications: options, files, what comes before and after. Weights and numbers are compared
// with Keras's in tests/parity.
#include <gtest/gtest.h>

#include <cmath>

#include <stoker/applications.h>
#include <stoker/layers.h>
#include <stoker/safetensors.h>

#include "base/file.h"
#include "support/temp_dir.h"

namespace stoker::test {
namespace {

using namespace applications;

template <class E, class Action>
std::string text_of(Action action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an error";
  return "";
}

Model small(const MobileNetV2Options& given = {}) {
  MobileNetV2Options options = given;
  options.alpha = 0.35;
  if (options.input_shape.rank() == 0 && options.include_top) options.input_shape = {32, 32, 3};
  options.classes = 5;
  return MobileNetV2(options);
}

TEST(KerasApplications, GiveFeaturesWithoutTheTop) {
  ApplicationOptions options{.include_top = false, .input_shape = {64, 64, 3}};
  EXPECT_EQ(DenseNet121(options).outputs()[0].shape(), Shape({-1, 2, 2, 1024}));
  options.pooling = "max";
  EXPECT_EQ(DenseNet121(options).outputs()[0].shape(), Shape({-1, 1024}));
}

TEST(KerasApplications, TakePicturesOfAnySizeWithoutTheTop) {
  Model model = small({.include_top = false, .pooling = "avg"});
  EXPECT_EQ(model.inputs()[0].shape(), Shape({-1, -1, -1, 3}));
  EXPECT_EQ(model(Tensor::full({1, 64, 32, 3}, 0.5)).shape(), Shape({1, 1280}));
  EXPECT_EQ(model(Tensor::full({2, 32, 32, 3}, 0.5)).shape(), Shape({2, 1280}));
}

TEST(KerasApplications, GiveLogitsWithoutAnActivation) {
  Model softmax = small();
  EXPECT_NEAR(softmax(Tensor::full({1, 32, 32, 3}, 0.5)).mean(), 0.2, 1e-6);
  EXPECT_EQ(small({.classifier_activation = {}}).outputs()[0].shape(), Shape({-1, 5}));
}

TEST(KerasApplications, LearnAndAreSavedWithTheirLayers) {
  TempDir dir;
  ApplicationOptions options{.input_shape = {32, 32, 3}, .classes = 2};
  set_seed(1);
  Model model = EfficientNetB0(options);  // with StochasticDepth
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  Tensor x = Tensor::zeros({4, 32, 32, 3}), y = Tensor::zeros({4}, DType::int32);
  for (int64_t i = 0; i < x.shape().elements(); ++i) x.data_mut<float>()[i] = float(i * 7919 % 251);
  double first = model.train_on_batch(x, y)["loss"];
  model.reset_metrics();
  EXPECT_NE(model.train_on_batch(x, y)["loss"], first);
  model.save(dir / "model.stoker");
  EXPECT_EQ(load_model(dir / "model.stoker")(x), model(x));
}

TEST(KerasApplications, TakeBytesByName) {
  TempDir dir;
  for (const char* name : {"MobileNetV3Small", "MobileNetV2"}) {
    Model model = by_name(name, {.input_shape = {32, 32, 3}, .classes = 3, .dtype = DType::uint8});
    Tensor white = Tensor::full({1, 32, 32, 3}, 255, DType::uint8);
    Tensor before = model(white);
    EXPECT_EQ(before.shape(), Shape({1, 3}));
    model.save(dir / "model.stoker");
    EXPECT_EQ(load_model(dir / "model.stoker")(white), before) << name;
  }
  EXPECT_EQ(by_name("MobileNetV2", {.input_shape = {32, 32, 3}}).inputs()[0].dtype(),
            DType::float32);
}

TEST(KerasApplications, ReadWeightsByName) {
  TempDir dir;
  Model trained = small();
  TensorMap tensors;
  for (const Variable& weight : trained.weights()) tensors[weight.name()] = weight.read();
  save_safetensors(dir / "all.safetensors", tensors);
  Tensor x = Tensor::full({1, 32, 32, 3}, 0.5);
  EXPECT_EQ(small({.weights = dir / "all.safetensors"})(x), trained(x));
  // The classifier is in the file and not in the model.
  EXPECT_NO_THROW(small({.include_top = false, .weights = dir / "all.safetensors"}));
  tensors.erase("Conv1/kernel");
  save_safetensors(dir / "some.safetensors", tensors);
  std::string text = text_of<FileError>([&] { small({.weights = dir / "some.safetensors"}); });
  EXPECT_NE(text.find("Conv1/kernel"), std::string::npos) << text;
}

TEST(KerasApplications, SayHowImageNetsWeightsAreConverted) {
  std::string text = text_of<ValueError>([] { ResNet50({.weights = "imagenet"}); });
  EXPECT_NE(text.find("scripts/keras_weights.py ResNet50"), std::string::npos) << text;
}

TEST(KerasApplications, SayWhatTheyCannotTake) {
  EXPECT_THROW(VGG16({.input_shape = {31, 31, 3}}), ShapeError);
  EXPECT_THROW(VGG16({.input_shape = {-1, -1, 3}}), ShapeError);
  EXPECT_THROW(Xception({.include_top = false, .input_shape = {70, 71, 3}}), ShapeError);
  EXPECT_THROW(NASNetMobile({.include_top = false, .input_shape = {-1, -1, 3}}), ShapeError);
  EXPECT_THROW(small({.pooling = "avg"}), ValueError);
  EXPECT_THROW(small({.include_top = false, .pooling = "mean"}), ValueError);
  EXPECT_THROW(ResNet50({.classes = 0}), ValueError);
  for (double alpha : {0.0, -1.0, 1e300, std::nan("")}) {
    EXPECT_THROW(MobileNet({.alpha = alpha}), ValueError);
    EXPECT_THROW(MobileNetV2({.alpha = alpha}), ValueError);
    EXPECT_THROW(MobileNetV3Small({.alpha = alpha}), ValueError);
  }
}

Tensor pixels() { return Tensor::from({0.0F, 127.5F, 255.0F}, {1, 1, 1, 3}); }

TEST(PreprocessInput, IsTheFamilysOwn) {
  Tensor tf = preprocess_input(pixels(), "MobileNetV2");
  EXPECT_EQ(tf, Tensor::from({-1.0F, 0.0F, 1.0F}, {1, 1, 1, 3}));
  EXPECT_EQ(preprocess_input(pixels(), "ResNet50V2"), tf);
  EXPECT_EQ(preprocess_input(pixels(), "tf"), tf);
  Tensor caffe = preprocess_input(pixels(), "ResNet50");
  EXPECT_FLOAT_EQ(float(caffe.at(0)), 255 - 103.939F);  // blue comes first
  EXPECT_FLOAT_EQ(float(caffe.at(2)), -123.68F);
  Tensor torch = preprocess_input(pixels(), "DenseNet121");
  EXPECT_NEAR(torch.at(0), -0.485 / 0.229, 1e-6);
  EXPECT_NEAR(torch.at(2), (1 - 0.406) / 0.225, 1e-6);
  EXPECT_EQ(preprocess_input(pixels(), "EfficientNetB0"), pixels());
  EXPECT_EQ(preprocess_input(pixels(), "MobileNetV3Small"), pixels());
}

TEST(PreprocessInput, IsTheSameInsideOfAModel) {
  for (const char* mode : {"tf", "torch", "caffe", "VGG16", "EfficientNetB0"}) {
    Value in = Input({1, 1, 3});
    Model model(in, Activation("linear")(preprocess_input(in, mode)));
    Tensor inside = model(pixels()), outside = preprocess_input(pixels(), mode);
    for (int64_t i = 0; i < 3; ++i) EXPECT_NEAR(inside.at(i), outside.at(i), 1e-4) << mode;
  }
}

TEST(PreprocessInput, KnowsEveryNetwork) {
  for (const std::string& name : keras_names()) EXPECT_NO_THROW(preprocess_input(pixels(), name));
  EXPECT_THROW(preprocess_input(pixels(), "resnet"), ValueError);
  EXPECT_THROW(preprocess_input(Tensor::zeros({1, 1, 1, 4}), "caffe"), ShapeError);
}

TEST(DecodePredictions, NamesTheBestClasses) {
  TempDir dir;
  write_file_atomically(dir / "index.json",
                        R"({"0": ["n01", "tench"], "1": ["n02", "shark"], "2": ["n03", "cock"]})");
  write_file_atomically(dir / "names.txt", "tench\r\nshark\ncock\n");
  Tensor scores = Tensor::from({0.2F, 0.7F, 0.1F, 0.3F, 0.3F, 0.4F}, {2, 3});
  auto best = decode_predictions(scores, {.top = 2, .classes_file = dir / "index.json"});
  ASSERT_EQ(best.size(), 2U);
  ASSERT_EQ(best[0].size(), 2U);
  EXPECT_EQ(best[0][0].id, "n02");
  EXPECT_EQ(best[0][0].name, "shark");
  EXPECT_FLOAT_EQ(float(best[0][0].score), 0.7F);
  EXPECT_EQ(best[1][1].name, "tench");
  EXPECT_EQ(decode_predictions(scores, {.classes_file = dir / "names.txt"})[0].size(), 3U);
  EXPECT_EQ(decode_predictions(scores, {.classes_file = dir / "names.txt"})[0][0].name, "shark");
}

TEST(DecodePredictions, SaysWhatIsWrongWithTheFile) {
  TempDir dir;
  Tensor scores = Tensor::from({0.2F, 0.8F}, {1, 2});
  EXPECT_THROW(decode_predictions(scores, {}), ValueError);
  write_file_atomically(dir / "one.txt", "tench\n");
  EXPECT_THROW(decode_predictions(scores, {.classes_file = dir / "one.txt"}), FileError);
  for (const char* text : {"{", "{\"0\": 3}", "{\"1\": [\"a\", \"b\"]}", "{\"0\": [\"a\", 1]}"}) {
    write_file_atomically(dir / "bad.json", text);
    EXPECT_THROW(decode_predictions(scores, {.classes_file = dir / "bad.json"}), FileError) << text;
  }
  EXPECT_THROW(decode_predictions(scores[0], {.classes_file = dir / "one.txt"}), ShapeError);
}

}  // namespace
}  // namespace stoker::test
