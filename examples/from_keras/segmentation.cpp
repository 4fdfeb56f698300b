// Keras's "Image segmentation with a U-Net-like architecture": a class for every pixel.
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

struct Scenes {
  Tensor x, y;  // float32 [n, 24, 24, 3], int32 [n, 24, 24]: ground, disc, rim
};

Scenes draw_scenes(int64_t count) {
  constexpr int64_t kSide = 24;
  Scenes scenes{{DType::float32, {count, kSide, kSide, 3}}, {DType::int32, {count, kSide, kSide}}};
  Rng rng(1);
  float* pixel = scenes.x.data_mut<float>();
  int32_t* label = scenes.y.data_mut<int32_t>();
  for (int64_t i = 0; i < count; ++i) {
    int64_t top = rng.integer(8, 16), left = rng.integer(8, 16), radius = rng.integer(4, 8);
    for (int64_t row = 0; row < kSide; ++row)
      for (int64_t column = 0; column < kSide; ++column) {
        int64_t far = (row - top) * (row - top) + (column - left) * (column - left);
        bool inside = far < radius * radius, rim = inside && far > (radius - 2) * (radius - 2);
        *label++ = rim ? 2 : inside ? 1 : 0;
        for (int channel = 0; channel < 3; ++channel)
          *pixel++ = (rim ? 0.5F : inside ? 1.0F : 0.0F) + 0.2F * rng.normal();
      }
  }
  return scenes;
}

// Idea: 27 lines in Keras.
Value convolved(const Value& x, int64_t filters) {
  Value y = Conv2D(filters, 3, {.padding = "same", .use_bias = false})(x);
  y = BatchNormalization()(y);
  return Activation("relu")(y);
}

Model get_model(const Shape& image, int64_t num_classes) {
  Value inputs = Input(image);
  Value x = inputs;
  Values skipped;
  for (int64_t filters : {8, 16}) {
    x = convolved(convolved(x, filters), filters);
    skipped.push_back(x);
    x = MaxPooling2D(2)(x);
  }
  x = convolved(x, 32);
  for (int64_t filters : {16, 8}) {
    x = UpSampling2D(2)(x);
    x = Concatenate()({x, skipped.back()});
    skipped.pop_back();
    x = convolved(x, filters);
  }
  return Model(inputs, Conv2D(num_classes, 3, {.padding = "same", .activation = "softmax"})(x));
}

// Data:
}  // namespace

int main() {
  set_seed(1);
  Scenes scenes = draw_scenes(160);
  // Idea:
  Model model = get_model({24, 24, 3}, 3);
  model.compile({.optimizer = Adam({.learning_rate = 5e-3}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  model.fit(scenes.x, scenes.y,
            {.epochs = 8,
             .batch_size = 8,
             .validation_split = 0.2,
             .callbacks = {ModelCheckpoint("segmentation.stoker", {.save_best_only = true})}});

  // Shown:
  double accuracy = model.history()["val_accuracy"].back();
  std::printf("pixels right: %.3f\n", accuracy);
  return accuracy > 0.8 ? 0 : 1;
}
