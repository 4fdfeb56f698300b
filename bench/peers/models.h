// The workloads' models in Stoker, layer by layer those of workers/keras_models.py.
#pragma once

#include <string>

#include <stoker/stoker.h>

namespace stoker::peers {

// cnn64 and cnn32: small CNNs with 64 and 128, and with 32 and 64 filters; residual: three blocks for 32×32×3;
// mlp: 784-512-512-10; photos: a small CNN for uint8 photographs of 96×96. Not compiled. ValueError
// lists the names.
Model build_model(const std::string& name);

Shape input_shape(const std::string& name);  // of one sample

int64_t trainable_parameters(const Model& model);

}  // namespace stoker::peers
