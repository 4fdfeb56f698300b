// Keras's "OCR model for reading captchas": a layer that adds the CTC loss, and a model without it.
#include <cstdio>

#include "../digits.h"

using namespace stoker;

namespace {

// Three digits beside each other, and which they are: 1 … 10, as 0 is CTC's blank.
Batch draw_texts(int64_t count) {
  Digits digits = draw_digits(3 * count, 1);
  Tensor images(DType::float32, {count, 84, 28, 1});  // [B, width, height, 1]
  auto* pixels = images.data_mut<float>();
  for (int64_t i = 0; i < digits.x.elements(); ++i) {
    int64_t digit = i / 784, row = i % 784 / 28, column = i % 28;
    pixels[(digit * 28 + column) * 28 + row] = digits.x.data<float>()[i];
  }
  return {images, digits.y.reshape({count, 3}) + 1};
}

// Idea: 22 lines in Keras.
class CTCLayer : public LayerBase {
 public:
  std::string kind() const override { return "CTCLayer"; }
  Values call(const Values& inputs, CallContext& context) override {
    context.add_loss(ctc(inputs[0], inputs[1]));
    return {inputs[1]};
  }
};

Model build_model() {
  Value image = Input({84, 28, 1}, {.name = "image"});
  Value label = Input({3}, {.dtype = DType::int32, .name = "label"});
  Value x = Conv2D(8, 3, {.padding = "same", .activation = "relu"})(image);
  x = MaxPooling2D({4, 2})(x);
  x = Conv2D(16, 3, {.padding = "same", .activation = "relu"})(x);
  x = MaxPooling2D({1, 2})(x);
  x = Reshape({21, 7 * 16})(x);
  x = Dense(32, {.activation = "relu"})(x);
  x = Bidirectional(LSTM(24, {.return_sequences = true}))(x);
  x = Dense(11, {.name = "characters"})(x);
  Model model({image, label}, {make_layer<CTCLayer>()({label, x})});
  model.compile({.optimizer = Adam({.learning_rate = 0.01})});
  return model;
}

// Data:
}  // namespace

int main() {
  set_seed(1);
  Batch texts = draw_texts(256);
  // Idea:
  Model model = build_model();
  History history = model.fit({texts[0], texts[1]}, {}, {.epochs = 14, .batch_size = 16});
  Model reader({model.inputs()[0]}, {model.output_of("characters")});
  Tensor best = reader.predict(texts[0]).argmax();  // [B, 21]

  // Shown:
  for (int64_t step = 0; step < best.shape()[1]; ++step) std::printf("%d ", int(best.at(step)));
  std::printf("\nare the characters of the first text, 0 between them\n");
  return history["loss"].back() < 0.6 * history["loss"].front() ? 0 : 1;
}
