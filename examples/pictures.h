// Pictures of ten classes, drawn: noise over a tint that says the class. And a small CNN for them.
// Picture i is always the same.
#pragma once

#include <cstdint>
#include <string>

#include <stoker/stoker.h>

struct Pictures {
  stoker::Tensor x;  // uint8 [count, side, side, channels]
  stoker::Tensor y;  // int32 [count]
};

inline Pictures draw_pictures(int64_t count, int64_t side, int64_t channels = 3) {
  using namespace stoker;
  Pictures pictures{{DType::uint8, {count, side, side, channels}}, {DType::int32, {count}}};
  uint8_t* pixel = pictures.x.data_mut<uint8_t>();
  for (int64_t i = 0; i < count; ++i) {
    Rng rng(1, uint64_t(i));
    auto label = int32_t(rng.integer(0, 10));
    pictures.y.data_mut<int32_t>()[i] = label;
    int tint[3] = {label % 3 * 48, label / 3 % 3 * 48, label / 9 * 48};
    for (int64_t value = 0; value < side * side * channels; value += 4)
      for (uint32_t k = 0, bits = rng(); k < 4; ++k, bits >>= 8)
        *pixel++ = uint8_t((bits & 127) + uint32_t(tint[(value + k) % channels]));
  }
  return pictures;
}

// The same as float32 in [0, 1].
inline Pictures draw_float_pictures(int64_t count, int64_t side, int64_t channels = 3) {
  Pictures pictures = draw_pictures(count, side, channels);
  return {pictures.x / 255, pictures.y};
}

inline stoker::Sequential compiled(const stoker::Sequential& model) {
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  return model;
}

// As JPEG files: bytes [count].
inline stoker::Tensor encoded(const stoker::Tensor& pictures) {
  stoker::Tensor files(stoker::DType::bytes, {pictures.shape()[0]});
  for (int64_t i = 0; i < files.elements(); ++i)
    files.data_mut<std::string>()[i] =
        stoker::image::encode_jpeg()(pictures[i]).data<std::string>()[0];
  return files;
}

// One layer, so that the input is most of the work. The weights are the same in every call.
inline stoker::Sequential small_classifier(const stoker::Shape& input) {
  using namespace stoker;
  set_seed(1);
  return compiled(Sequential({Input(input), Flatten(), Dense(10, {.activation = "softmax"})}));
}

// The weights are the same in every call.
inline stoker::Sequential small_cnn(const stoker::Shape& input) {
  using namespace stoker;
  set_seed(1);
  return compiled(Sequential({Input(input), Conv2D(8, 3, {.activation = "relu"}), MaxPooling2D(2),
                              GlobalAveragePooling2D(), Dense(10, {.activation = "softmax"})}));
}
