// A Vision Transformer: a picture is cut into patches, which attend to each other like words of a
// text.
#include <cstdio>

#include "../digits.h"

using namespace stoker;

int main() {
  set_seed(1);
  Digits train = draw_digits(2000, 1), test = draw_digits(400, 2);

  // Idea: 50 lines in Keras.
  constexpr int64_t kPatch = 7, kPatches = 16, kWidth = 48;
  Value image = Input({28, 28, 1});
  Value x = Conv2D(kWidth, kPatch, {.strides = kPatch, .name = "patches"})(image);
  x = Reshape({kPatches, kWidth})(x);
  x = x + PositionEmbedding(kPatches)(x);
  for (int block = 0; block < 3; ++block) {
    Value y = LayerNormalization({.epsilon = 1e-6})(x);
    x = x + MultiHeadAttention(4, 12, {.dropout = 0.1})(y, y);
    y = LayerNormalization({.epsilon = 1e-6})(x);
    y = Dropout(0.1)(Dense(2 * kWidth, {.activation = "gelu"})(y));
    x = x + Dropout(0.1)(Dense(kWidth)(y));
  }
  x = GlobalAveragePooling1D()(LayerNormalization({.epsilon = 1e-6})(x));
  Model model(image, Dense(10, {.activation = "softmax"})(x));
  model.compile({.optimizer = AdamW({.learning_rate = 3e-3, .weight_decay = 1e-4}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  model.fit(train.x, train.y,
            {.epochs = 12, .batch_size = 64, .validation_data = {test.x, test.y}});

  // Shown:
  double accuracy = model.evaluate(test.x, test.y)["accuracy"];
  std::printf("test accuracy %.3f\n", accuracy);
  return accuracy > 0.8 ? 0 : 1;
}
