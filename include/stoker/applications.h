// Known networks for pictures. Each function returns an uncompiled model.
//
//   Model base = applications::EfficientNetB0({.include_top = false, .input_shape = {96, 96, 3}});
//   Model small = applications::resnet18({.input_shape = {32, 32, 3}, .classes = 10});
//
// Names in PascalCase are those of keras.applications; names in snake_case are Stoker's own, with
// random weights and a softmax output. `stoker train --model` knows both.
#pragma once

#include <string>
#include <vector>

#include <stoker/layer_options.h>
#include <stoker/model.h>

namespace stoker::applications {

struct Options {
  Shape input_shape = {224, 224, 3};  // [height, width, channels]; mlp takes any
  int64_t classes = 1000;
  // uint8: pictures as they are decoded, 0 … 255; the model then begins with Rescaling(1 / 255).
  DType dtype = DType::float32;
  std::string name = "";  // none: the function's
};

Model mlp(const Options& options = {});        // two hidden layers of 512 units
Model lenet(const Options& options = {});      // LeNet-5 with ReLU and max pooling
Model cnn(const Options& options = {});        // 3×3 convolutions of 64 and 128 filters, pooled
Model cnn_small(const Options& options = {});  // the same with 32 and 64 filters

// As in torchvision: the stride is in the 3×3 convolution of a bottleneck. Pictures below 64
// pixels meet a 3×3 convolution of stride 1 first instead of 7×7, stride 2 and pooling.
Model resnet18(const Options& options = {});
Model resnet50(const Options& options = {});
Model mobilenet(const Options& options = {});  // the first version, full width

// "mlp", "lenet", "cnn", "cnn-small", "resnet18", "resnet50", "mobilenet".
std::vector<std::string> names();
// One of names() or keras_names(); with a dtype of uint8 the latter begin with preprocess_input().
// ValueError lists the names.
Model by_name(const std::string& name, const Options& options = {});

// --- keras.applications -------------------------------------------------------------------------

// Every family of keras.applications 3.15, layer by layer: names, shapes and meaning of all weights
// are Keras's, so that weights saved by Keras load by name. Values of inputs are those that
// preprocess_input() gives. Shape and options that do not fit are a ShapeError or a ValueError.

struct ApplicationOptions {
  bool include_top = true;  // with the classifier; false: features
  // A safetensors file with Keras's names (scripts/keras_weights.py makes one); "": random weights.
  // FileError unless it has every weight of the model.
  std::string weights = "";
  // [height, width, channels]; -1: any. Empty: the family's own size, without the top {-1, -1, 3}.
  Shape input_shape = {};
  std::string pooling = "";  // without the top: "avg", "max", or "" for [B, H, W, C]
  int64_t classes = 1000;
  ActivationFunction classifier_activation = "softmax";  // {}: logits
  std::string name = "";                                 // "": Keras's
};
// For networks with a first layer that scales pixels of 0 … 255.
struct PreprocessingOptions {
  bool include_top = true;
  bool include_preprocessing = true;  // false: the caller scales
  std::string weights = "";
  Shape input_shape = {};
  std::string pooling = "";
  int64_t classes = 1000;
  ActivationFunction classifier_activation = "softmax";
  std::string name = "";
};

Model VGG16(const ApplicationOptions& options = {});
Model VGG19(const ApplicationOptions& options = {});
Model ResNet50(const ApplicationOptions& options = {});
Model ResNet101(const ApplicationOptions& options = {});
Model ResNet152(const ApplicationOptions& options = {});
Model ResNet50V2(const ApplicationOptions& options = {});
Model ResNet101V2(const ApplicationOptions& options = {});
Model ResNet152V2(const ApplicationOptions& options = {});
Model DenseNet121(const ApplicationOptions& options = {});
Model DenseNet169(const ApplicationOptions& options = {});
Model DenseNet201(const ApplicationOptions& options = {});
Model Xception(const ApplicationOptions& options = {});
Model InceptionV3(const ApplicationOptions& options = {});
Model InceptionResNetV2(const ApplicationOptions& options = {});
Model NASNetMobile(const ApplicationOptions& options = {});
Model NASNetLarge(const ApplicationOptions& options = {});
Model EfficientNetB0(const ApplicationOptions& options = {});
Model EfficientNetB1(const ApplicationOptions& options = {});
Model EfficientNetB2(const ApplicationOptions& options = {});
Model EfficientNetB3(const ApplicationOptions& options = {});
Model EfficientNetB4(const ApplicationOptions& options = {});
Model EfficientNetB5(const ApplicationOptions& options = {});
Model EfficientNetB6(const ApplicationOptions& options = {});
Model EfficientNetB7(const ApplicationOptions& options = {});

Model EfficientNetV2B0(const PreprocessingOptions& options = {});
Model EfficientNetV2B1(const PreprocessingOptions& options = {});
Model EfficientNetV2B2(const PreprocessingOptions& options = {});
Model EfficientNetV2B3(const PreprocessingOptions& options = {});
Model EfficientNetV2S(const PreprocessingOptions& options = {});
Model EfficientNetV2M(const PreprocessingOptions& options = {});
Model EfficientNetV2L(const PreprocessingOptions& options = {});
Model ConvNeXtTiny(const PreprocessingOptions& options = {});
Model ConvNeXtSmall(const PreprocessingOptions& options = {});
Model ConvNeXtBase(const PreprocessingOptions& options = {});
Model ConvNeXtLarge(const PreprocessingOptions& options = {});
Model ConvNeXtXLarge(const PreprocessingOptions& options = {});

struct MobileNetOptions {
  Shape input_shape = {};
  double alpha = 1.0;  // times the filters of every layer
  int64_t depth_multiplier = 1;
  double dropout = 0.001;
  bool include_top = true;
  std::string weights = "";
  std::string pooling = "";
  int64_t classes = 1000;
  ActivationFunction classifier_activation = "softmax";
  std::string name = "";
};
Model MobileNet(const MobileNetOptions& options = {});

struct MobileNetV2Options {
  Shape input_shape = {};
  double alpha = 1.0;
  bool include_top = true;
  std::string weights = "";
  std::string pooling = "";
  int64_t classes = 1000;
  ActivationFunction classifier_activation = "softmax";
  std::string name = "";
};
Model MobileNetV2(const MobileNetV2Options& options = {});

struct MobileNetV3Options {
  Shape input_shape = {};  // empty: {-1, -1, 3}
  double alpha = 1.0;
  bool minimalistic = false;  // no squeeze-and-excite, hard-swish or 5×5 convolutions
  bool include_top = true;
  std::string weights = "";
  int64_t classes = 1000;
  std::string pooling = "";
  double dropout_rate = 0.2;
  ActivationFunction classifier_activation = "softmax";
  bool include_preprocessing = true;
  std::string name = "";
};
Model MobileNetV3Small(const MobileNetV3Options& options = {});
Model MobileNetV3Large(const MobileNetV3Options& options = {});

// The PascalCase names above, in alphabetical order.
std::vector<std::string> keras_names();

// Pixels of 0 … 255, [.., 3] in RGB, as the network of this name was trained on them: a name of
// keras_names(), or a mode, "tf" (-1 … 1), "torch" (by ImageNet's mean and deviation) or "caffe" (BGR
// without the mean). Networks that scale by themselves get x as float32. ValueError lists the names.
Tensor preprocess_input(const Tensor& x, const std::string& network);
Value preprocess_input(const Value& x, const std::string& network);

struct Prediction {
  std::string id;    // WordNet's, "n02504458"; of a file without ids the class's number
  std::string name;  // "African_elephant"
  double score = 0;
};
struct DecodePredictions {
  int top = 5;
  // ImageNet's classes: imagenet_class_index.json of Keras, or one name per line. Not downloaded.
  std::string classes_file = "";
};
// The best classes of every row of `predictions`, [B, classes], the best first. FileError for a file
// that cannot be read or has another number of classes.
std::vector<std::vector<Prediction>> decode_predictions(const Tensor& predictions,
                                                        const DecodePredictions& options);

}  // namespace stoker::applications
