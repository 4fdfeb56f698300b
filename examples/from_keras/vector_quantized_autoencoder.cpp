// Keras's "Vector-Quantized Variational Autoencoders": digits written with 32 codes.
#include <cstdio>
#include <set>

#include "../digits.h"

using namespace stoker;

namespace {

// Idea: 68 lines in Keras.
class VectorQuantizer : public LayerBase {
 public:
  VectorQuantizer(int64_t codes, int64_t dim, double beta = 0.25)
      : codes_(codes), dim_(dim), beta_(beta) {}
  std::string kind() const override { return "VectorQuantizer"; }
  void build(const std::vector<Shape>&) override {
    embeddings_ = add_weight("embeddings", {dim_, codes_}, {.initializer = "random_uniform"});
  }

  Value code_indices(const Value& flat) const {
    Value similarity = ops::matmul(flat, embeddings_);
    Value distances = ops::sum(ops::square(flat), {.axes = {1}, .keepdims = true}) +
                      ops::sum(ops::square(embeddings_), {.axes = {0}}) - 2.0 * similarity;
    return ops::argmin(distances, 1);
  }

  Values call(const Values& inputs, CallContext& context) override {
    Value x = inputs[0];
    Value codes = ops::one_hot(code_indices(ops::reshape(x, {-1, dim_})), codes_);
    Value quantized = ops::matmul(codes, embeddings_, {.transpose_b = true});
    quantized = ops::reshape(quantized, x.shape());
    Value commitment = ops::mean(ops::square(ops::stop_gradient(quantized) - x));
    Value codebook = ops::mean(ops::square(quantized - ops::stop_gradient(x)));
    context.add_loss(beta_ * commitment + codebook);
    return {x + ops::stop_gradient(quantized - x)};  // straight through
  }

 private:
  int64_t codes_, dim_;
  double beta_;
  Variable embeddings_;
};

Model make_encoder(int64_t latent_dim) {
  Value inputs = Input({28, 28, 1});
  Value x = Conv2D(16, 3, {.strides = 2, .padding = "same", .activation = "relu"})(inputs);
  x = Conv2D(32, 3, {.strides = 2, .padding = "same", .activation = "relu"})(x);
  return {inputs, Conv2D(latent_dim, 1)(x), {.name = "encoder"}};
}

Model make_decoder(int64_t latent_dim) {
  Value inputs = Input({7, 7, latent_dim});
  Value x = Conv2DTranspose(32, 3, {.strides = 2, .padding = "same", .activation = "relu"})(inputs);
  x = Conv2DTranspose(16, 3, {.strides = 2, .padding = "same", .activation = "relu"})(x);
  return {inputs, Conv2DTranspose(1, 3, {.padding = "same"})(x), {.name = "decoder"}};
}

Model make_vqvae(int64_t latent_dim, int64_t codes) {
  Layer quantizer = make_layer<VectorQuantizer>(codes, latent_dim);
  Model encoder = make_encoder(latent_dim), decoder = make_decoder(latent_dim);
  Value inputs = Input({28, 28, 1});
  return {inputs, decoder(quantizer(encoder(inputs))), {.name = "vq_vae"}};
}
// Shown:

}  // namespace

int main() {
  set_seed(1);
  Digits digits = draw_digits(500, 1);
  Model vqvae = make_vqvae(8, 32);
  vqvae.compile({.optimizer = Adam({.learning_rate = 3e-3}), .loss = "mse"});
  History history = vqvae.fit(digits.x, digits.x, {.epochs = 8});
  utils::save_img("digit.png", vqvae.predict(digits.x.slice(0, 1))[0]);
  return history["loss"].back() < 0.6 * history["loss"].front() ? 0 : 1;
}
