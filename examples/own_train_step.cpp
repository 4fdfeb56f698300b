// An own training step inside of fit: a variational autoencoder of pictures of one bright spot. The
// step has two parts of a loss and draws random numbers; fit brings history, validation, early stopping
// and checkpoints, from which the same program goes on if it is stopped.
#include <cmath>
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kSide = 8, kPixels = kSide * kSide, kLatent = 2, kPictures = 2048;

// [kPictures, kPixels]: a spot at a random place each.
Tensor pictures() {
  Tensor all(DType::float32, {kPictures, kPixels});
  Rng rng(7);
  for (int64_t i = 0; i < kPictures; ++i) {
    float x = rng.uniform(1, kSide - 2), y = rng.uniform(1, kSide - 2);
    for (int64_t row = 0; row < kSide; ++row)
      for (int64_t column = 0; column < kSide; ++column)
        all.data_mut<float>()[i * kPixels + row * kSide + column] =
            std::exp(-(std::pow(float(row) - y, 2.0F) + std::pow(float(column) - x, 2.0F)) / 2);
  }
  return all;
}

}  // namespace

int main() {
  set_seed(1);
  Sequential encoder({Input({kPixels}), Dense(64, {.activation = "relu"}), Dense(2 * kLatent)});
  Sequential decoder({Input({kLatent}), Dense(64, {.activation = "relu"}), Dense(kPixels)});
  // What the model is to others: pictures from places in the latent space, and the other way round.
  Value picture = Input({kPixels}), place = Input({kLatent});
  Model vae({picture, place}, {encoder(picture), decoder(place)});

  Adam adam({.learning_rate = 2e-3});
  std::vector<Variable> weights = vae.trainable_variables();
  // The losses of a batch: of the pictures, and of the distance of their places from a normal draw.
  auto losses = [&](const Value& x, const Value& noise) {
    Values parts = ops::split(encoder(x), 2, 1);  // means and logarithms of variances
    Value z = parts[0] + ops::exp(parts[1] * 0.5) * noise;
    Value picture_loss = ops::mean(ops::sum(ops::square(x - decoder(z)), {.axes = {1}}));
    Value divergence = ops::mean(ops::sum(
        (ops::square(parts[0]) + ops::exp(parts[1]) - parts[1] - 1.0) * 0.5, {.axes = {1}}));
    return Values{picture_loss + divergence * 0.05, picture_loss, divergence};
  };
  vae.compile({.optimizer = adam,
               .train_step = [&](const Value& x) -> StepLogs {
                 Values all = losses(x, ops::random::normal({x.shape()[0], kLatent}));
                 adam.apply(gradients(all[0], weights), weights);
                 return {{"loss", all[0]}, {"picture_loss", all[1]}, {"divergence", all[2]}};
               },
               .test_step = [&](const Value& x) -> StepLogs {  // without noise
                 Values all = losses(x, ops::zeros({x.shape()[0], kLatent}));
                 return {{"loss", all[0]}, {"picture_loss", all[1]}};
               }});

  History history = vae.fit(pictures(), {},
                            {.epochs = 20,
                             .batch_size = 64,
                             .validation_split = 0.1,
                             .verbose = 2,
                             .callbacks = {EarlyStopping({.monitor = "val_loss", .patience = 5}),
                                           BackupAndRestore("vae-run")}});
  double first = history["val_picture_loss"].front(), last = history["val_picture_loss"].back();
  std::printf("error of a picture: %.2f after the first epoch, %.2f after the last\n", first, last);
  return last < 0.5 * first ? 0 : 1;
}
