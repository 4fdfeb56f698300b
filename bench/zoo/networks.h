// The networks of bench_zoo, as users write them: the ones that were tuned for and, in others.cpp,
// ones that were not. peer.py has the same in PyTorch.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <stoker/stoker.h>

namespace stoker::bench {

struct Network {
  std::string name;  // as in peer.py
  Model (*make)();
  int64_t batch, cpu_batch;
  Shape input = {224, 224, 3};  // pictures are uint8; vectors float32
  int64_t classes = 1000;
  bool per_pixel = false;  // a class for every pixel
  // What the project asks for: so many times the rate of PyTorch's fastest mode. 0: no bar.
  double bar = 0;
};

std::vector<Network> networks();

Model resnet18();
Model resnet50();
Model vgg_cifar();
Model xception_mini();
Model mobilenet_v1();
Model efficientnet_b0();
Model mlp_big();
Model unet();
Model vit_s16();
Model convnext_tiny();
// Those that are in no table of bars.
Model densenet121();
Model shufflenet();
Model mlp_mixer();
Model fpn_dilated();

// Pictures as bytes, scaled to [0, 1].
struct Picture {
  Value input, x;
};
Picture picture(const Shape& shape);
// Convolution without bias, batch normalisation, activation ("": none).
Value conv_bn(const Value& x, int64_t filters, int64_t kernel, int64_t stride = 1,
              const std::string& activation = "relu", int64_t dilation = 1);
Value depthwise_bn(const Value& x, int64_t kernel, int64_t stride, const std::string& activation);
// The last layer computes in float32, as Keras's guide to mixed precision has it.
Model classifier(const Picture& picture, const Value& features, int64_t classes);

}  // namespace stoker::bench
