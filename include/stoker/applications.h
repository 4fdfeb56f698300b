// Known networks for pictures, by Keras's names and in its manner: functions of the input's shape
// and the number of classes. Each returns an uncompiled model with random weights and a softmax
// output.
//
//   Model model = applications::resnet50({.input_shape = {224, 224, 3}, .classes = 1000});
#pragma once

#include <string>
#include <vector>

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
// ValueError lists the names.
Model by_name(const std::string& name, const Options& options = {});

}  // namespace stoker::applications
