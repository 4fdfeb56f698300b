// Keras's "Image classification from scratch": a folder per class, a small Xception, one picture.
#include <cstdio>
#include <filesystem>

#include "../pictures.h"

using namespace stoker;

namespace {

// Two classes of drawn pictures as JPEG files: warm and cold.
void write_photos(const std::string& folder) {
  Pictures pictures = draw_pictures(160, 24);
  for (int64_t i = 0; i < 160; ++i) {
    std::string name = folder + (pictures.y.at(i) >= 5 ? "/warm" : "/cold");
    std::filesystem::create_directories(name);
    utils::save_img(name + "/" + std::to_string(i) + ".jpg", pictures.x[i], {.scale = false});
    if (pictures.y.at(i) == 9) utils::save_img("warm.jpg", pictures.x[i], {.scale = false});
  }
}

// Idea: 41 lines in Keras.
Model make_model(const Shape& input_shape) {
  Value inputs = Input(input_shape);
  Value x = Rescaling(1.0 / 255)(inputs);
  x = Conv2D(32, 3, {.strides = 2, .padding = "same"})(x);
  x = BatchNormalization()(x);
  x = Activation("relu")(x);
  Value previous = x;  // set aside the residual
  for (int64_t size : {32, 64}) {
    x = Activation("relu")(x);
    x = SeparableConv2D(size, 3, {.padding = "same"})(x);
    x = BatchNormalization()(x);
    x = Activation("relu")(x);
    x = SeparableConv2D(size, 3, {.padding = "same"})(x);
    x = BatchNormalization()(x);
    x = MaxPooling2D(3, {.strides = 2, .padding = "same"})(x);
    Value residual = Conv2D(size, 1, {.strides = 2, .padding = "same"})(previous);
    x = Add()({x, residual});
    previous = x;
  }
  x = SeparableConv2D(128, 3, {.padding = "same"})(x);
  x = BatchNormalization()(x);
  x = Activation("relu")(x);
  x = GlobalAveragePooling2D()(x);
  x = Dropout(0.25)(x);
  return Model(inputs, Dense(1)(x));
}

data::Dataset photos(data::Subset subset) {
  return utils::image_dataset_from_directory("photos", {.batch_size = 0,
                                                        .image_size = {24, 24},
                                                        .seed = 1337,
                                                        .validation_split = 0.2,
                                                        .subset = subset});
}

// Data:
}  // namespace

int main() {
  set_seed(1);
  write_photos("photos");
  // Idea:
  data::Dataset train =
      photos(data::Subset::training).map(image::random_flip_left_right()).batch(16);
  data::Dataset validation = photos(data::Subset::validation).batch(16);
  Model model = make_model({24, 24, 3});
  utils::plot_model(model, "model.svg", {.show_shapes = true});
  model.compile({.optimizer = Adam({.learning_rate = 3e-3}),
                 .loss = BinaryCrossentropy({.from_logits = true}),
                 .metrics = {BinaryAccuracy(0.5, {.name = "acc"})}});
  model.fit(train, {.epochs = 4,
                    .validation_data = validation,
                    .callbacks = {ModelCheckpoint("save_at_{epoch}.stoker")}});
  Tensor img = utils::load_img("warm.jpg", {.target_size = {24, 24}});
  Tensor score = model.predict(utils::img_to_array(img).reshape({1, 24, 24, 3}));
  std::printf("logit of a warm picture: %.2f\n", score.item());
  // Shown:
  return std::filesystem::exists("save_at_4.stoker") ? 0 : 1;
}
