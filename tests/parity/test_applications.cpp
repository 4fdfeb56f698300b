// keras.applications, against Keras: keras_applications.py.
#include <cmath>
#include <set>

#include "parity/application_cases.h"
#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker::test {
namespace {

constexpr uint64_t kImages = 100'000;  // stream

// What keras_applications.py draws for a weight of this name; undefined: it stays as it is.
Tensor drawn_weight(uint64_t seed, uint64_t stream, const std::string& name, const Shape& shape) {
  std::string kind = name.substr(name.rfind('/') + 1);
  auto is = [&](std::initializer_list<const char*> kinds) {
    return std::ranges::find(kinds, kind) != kinds.end();
  };
  if (kind == "count") return {};
  if (is({"gamma", "moving_variance", "variance", "variable"}))
    return drawn(seed, stream, shape, {.limit = 0.5F, .centre = 1});
  if (is({"beta", "bias", "moving_mean", "mean"}))
    return drawn(seed, stream, shape, {.limit = 0.125F});
  bool depthwise = shape.rank() == 4 && (shape[3] == 1 || kind == "depthwise_kernel");
  int64_t fan = depthwise ? shape[0] * shape[1] : shape.elements() / shape[-1];
  return drawn(seed, stream, shape, {.limit = float(std::sqrt(6.0 / double(fan)))});
}

void draw_weights(const Model& model, uint64_t seed) {
  uint64_t stream = 0;
  for (auto& [name, weight] : weights_by_name(model)) {
    Tensor values = drawn_weight(seed, stream++, name, weight.shape());
    if (values.defined()) Variable(weight).write(values);
  }
}

Tensor images(const Recording& recording, const std::string& name, int64_t side) {
  bool scales = name.starts_with("EfficientNet") || name.starts_with("MobileNetV3") ||
                name.starts_with("ConvNeXt");
  Range range = scales ? Range{.limit = 128, .centre = 128} : Range{.limit = 1};
  return drawn(recording.seed(), kImages, {2, side, side, 3}, range);
}

// Small pictures and seven classes, without an activation.
template <class Options>
Options run_options(int64_t side) {
  Options options;
  options.input_shape = {side, side, 3};
  options.classes = 7;
  options.classifier_activation = {};
  return options;
}

Model runnable(const std::string& name, int64_t side) {
  using namespace applications;
  auto options = run_options<ApplicationOptions>(side);
  auto preprocessing = run_options<PreprocessingOptions>(side);
  if (name == "VGG16")
    return VGG16({.include_top = false, .input_shape = {side, side, 3}, .pooling = "avg"});
  if (name == "ResNet50") return ResNet50(options);
  if (name == "ResNet50V2") return ResNet50V2(options);
  if (name == "DenseNet121") return DenseNet121(options);
  if (name == "Xception") return Xception(options);
  if (name == "InceptionV3") return InceptionV3(options);
  if (name == "InceptionResNetV2") return InceptionResNetV2(options);
  if (name == "NASNetMobile") return NASNetMobile(options);
  if (name == "EfficientNetB0") return EfficientNetB0(options);
  if (name == "EfficientNetV2B0") return EfficientNetV2B0(preprocessing);
  if (name == "EfficientNetV2S") return EfficientNetV2S(preprocessing);
  if (name == "ConvNeXtTiny") return ConvNeXtTiny(preprocessing);
  if (name == "MobileNet") return MobileNet(run_options<MobileNetOptions>(side));
  if (name == "MobileNetV2") return MobileNetV2(run_options<MobileNetV2Options>(side));
  if (name == "MobileNetV3Small") return MobileNetV3Small(run_options<MobileNetV3Options>(side));
  if (name == "MobileNetV3Large") return MobileNetV3Large(run_options<MobileNetV3Options>(side));
  throw ValueError("the recording has a network that the test lacks: " + name);
}

// "ResNet50 gray" as the end of a test's name.
std::string one_word(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, ' ', '_');
  return name;
}

std::vector<std::string> names_of(const ApplicationCases& cases) {
  std::vector<std::string> names;
  for (const auto& [name, make] : cases) names.push_back(name);
  return names;
}

using SmallApplications = testing::TestWithParam<std::string>;

TEST_P(SmallApplications, HaveTheWeightsOfKeras) {
  expect_structure(GetParam(), small_applications().at(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(All, SmallApplications, testing::ValuesIn(names_of(small_applications())),
                         one_word);

TEST(KerasApplications, AreAllCompared) {
  std::set<std::string> compared, recorded;
  for (const auto& [name, make] : small_applications()) compared.insert(name);
  for (const auto& [name, make] : large_applications()) compared.insert(name);
  for (const auto& [name, structure] : recorded_structures().items()) recorded.insert(name);
  EXPECT_EQ(compared, recorded);
  for (const std::string& name : applications::keras_names())
    EXPECT_TRUE(recorded.contains(name)) << name;
}

using RunApplications = testing::TestWithParam<std::string>;

TEST_P(RunApplications, ComputeWhatKerasComputes) {
  Recording recording("applications");
  auto side = int64_t(recording.number("side/" + GetParam()));
  Model model = runnable(GetParam(), side);
  draw_weights(model, recording.seed());
  EXPECT_TRUE(agrees(model(images(recording, GetParam(), side)), recording.expected(GetParam())));
}
INSTANTIATE_TEST_SUITE_P(All, RunApplications,
                         testing::ValuesIn(Recording("applications").names("side/")), one_word);

}  // namespace
}  // namespace stoker::test
