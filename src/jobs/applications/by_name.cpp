// Networks by their names.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/applications.h>
#include <stoker/layers.h>

namespace stoker::applications {

namespace {

struct Known {
  const char* name;
  Model (*make)(const Options&);
};
constexpr Known kOwn[] = {{"mlp", mlp},
                          {"lenet", lenet},
                          {"cnn", cnn},
                          {"cnn-small", cnn_small},
                          {"resnet18", resnet18},
                          {"resnet50", resnet50},
                          {"mobilenet", mobilenet}};

template <class OptionsOf>
OptionsOf named(const Options& options) {
  OptionsOf all;
  all.input_shape = options.input_shape;
  all.classes = options.classes;
  all.name = options.name;
  return all;
}
template <Model (*make)(const ApplicationOptions&)>
Model of(const Options& options) {
  return make(named<ApplicationOptions>(options));
}
template <Model (*make)(const PreprocessingOptions&)>
Model scaling(const Options& options) {
  return make(named<PreprocessingOptions>(options));
}

// In alphabetical order.
constexpr Known kKeras[] = {
    {"ConvNeXtBase", scaling<ConvNeXtBase>},
    {"ConvNeXtLarge", scaling<ConvNeXtLarge>},
    {"ConvNeXtSmall", scaling<ConvNeXtSmall>},
    {"ConvNeXtTiny", scaling<ConvNeXtTiny>},
    {"ConvNeXtXLarge", scaling<ConvNeXtXLarge>},
    {"DenseNet121", of<DenseNet121>},
    {"DenseNet169", of<DenseNet169>},
    {"DenseNet201", of<DenseNet201>},
    {"EfficientNetB0", of<EfficientNetB0>},
    {"EfficientNetB1", of<EfficientNetB1>},
    {"EfficientNetB2", of<EfficientNetB2>},
    {"EfficientNetB3", of<EfficientNetB3>},
    {"EfficientNetB4", of<EfficientNetB4>},
    {"EfficientNetB5", of<EfficientNetB5>},
    {"EfficientNetB6", of<EfficientNetB6>},
    {"EfficientNetB7", of<EfficientNetB7>},
    {"EfficientNetV2B0", scaling<EfficientNetV2B0>},
    {"EfficientNetV2B1", scaling<EfficientNetV2B1>},
    {"EfficientNetV2B2", scaling<EfficientNetV2B2>},
    {"EfficientNetV2B3", scaling<EfficientNetV2B3>},
    {"EfficientNetV2L", scaling<EfficientNetV2L>},
    {"EfficientNetV2M", scaling<EfficientNetV2M>},
    {"EfficientNetV2S", scaling<EfficientNetV2S>},
    {"InceptionResNetV2", of<InceptionResNetV2>},
    {"InceptionV3", of<InceptionV3>},
    {"MobileNet", [](const Options& o) { return MobileNet(named<MobileNetOptions>(o)); }},
    {"MobileNetV2", [](const Options& o) { return MobileNetV2(named<MobileNetV2Options>(o)); }},
    {"MobileNetV3Large",
     [](const Options& o) { return MobileNetV3Large(named<MobileNetV3Options>(o)); }},
    {"MobileNetV3Small",
     [](const Options& o) { return MobileNetV3Small(named<MobileNetV3Options>(o)); }},
    {"NASNetLarge", of<NASNetLarge>},
    {"NASNetMobile", of<NASNetMobile>},
    {"ResNet101", of<ResNet101>},
    {"ResNet101V2", of<ResNet101V2>},
    {"ResNet152", of<ResNet152>},
    {"ResNet152V2", of<ResNet152V2>},
    {"ResNet50", of<ResNet50>},
    {"ResNet50V2", of<ResNet50V2>},
    {"VGG16", of<VGG16>},
    {"VGG19", of<VGG19>},
    {"Xception", of<Xception>},
};

template <class Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> all;
  all.reserve(std::size(table));
  for (const Known& known : table) all.emplace_back(known.name);
  return all;
}

// Pictures as they are decoded: what preprocess_input does comes first.
Model keras_network(const Known& known, const Options& options) {
  if (options.dtype == DType::float32) return known.make(options);
  Value input = Input(options.input_shape, {.dtype = options.dtype});
  Model network = known.make(options);
  return Model(input, network(preprocess_input(input, known.name)), {.name = network.name()});
}

}  // namespace

std::vector<std::string> names() { return names_in(kOwn); }
std::vector<std::string> keras_names() { return names_in(kKeras); }

Model by_name(const std::string& name, const Options& options) {
  for (const Known& known : kOwn)
    if (known.name == name) return known.make(options);
  for (const Known& known : kKeras)
    if (known.name == name) return keras_network(known, options);
  throw ValueError(fmt::format("unknown model \"{}\"; there are {}, and those of Keras: {}", name,
                               fmt::join(names(), ", "), fmt::join(keras_names(), ", ")));
}

}  // namespace stoker::applications
