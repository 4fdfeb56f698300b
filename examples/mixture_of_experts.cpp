// A mixture of experts (Shazeer et al., 2017): a router sends every sample to two of eight small
// networks. A second loss keeps it from sending everything to the same two.
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kExperts = 8, kChosen = 2;

class MixtureOfExperts : public LayerBase {
 public:
  MixtureOfExperts(int64_t hidden, int64_t units, double balance)
      : hidden_(hidden),
        units_(units),
        balance_(balance),
        router_(kExperts, {.use_bias = false, .name = "router"}),
        load_(add_weight("load", {kExperts}, {.initializer = "zeros", .trainable = false})) {}
  std::string kind() const override { return "MixtureOfExperts"; }
  void build(const std::vector<Shape>& inputs) override {
    up_ = add_weight("up", {kExperts, inputs[0][-1], hidden_}, {.initializer = "he_normal"});
    down_ = add_weight("down", {kExperts, hidden_, units_});
  }

  Values call(const Values& inputs, CallContext& context) override {
    Value x = inputs[0], logits = router_(x);
    if (context.training()) logits += ops::random::normal(logits.shape(), {.stddev = 0.1});
    auto [best, experts] = ops::top_k(logits, kChosen);
    // weights: [B, kExperts], 0 for the experts that were not chosen.
    Value weights = ops::sum(
        ops::one_hot(experts, kExperts) * ops::expand_dims(ops::softmax(best), -1), {.axes = {1}});
    Value chosen = ops::mean(ops::cast(weights > 0.0, DType::float32), {.axes = {0}});
    Value wanted = ops::mean(ops::softmax(logits), {.axes = {0}});
    context.add_loss(ops::sum(chosen * wanted) * (balance_ * double(kExperts)));
    if (context.training()) context.update(load_, 0.9 * context.current(load_) + 0.1 * chosen);
    Value hidden = ops::relu(ops::einsum("bi,eih->beh", {x, up_}));
    return {ops::einsum("be,beh,eho->bo", {weights, hidden, down_})};
  }
  Tensor load() const { return load_.read(); }

 private:
  int64_t hidden_, units_;
  double balance_;
  Dense router_;
  Variable load_, up_, down_;
};

// Eight regions of the plane, in each another linear function.
Batch draw_regions(int64_t count, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> points, values;
  for (int64_t i = 0; i < count; ++i) {
    float x = rng.normal(), y = rng.normal();
    int region = int(x > 0) + 2 * int(y > 0) + 4 * int(x * x + y * y > 1.4F);
    points.insert(points.end(), {x, y});
    values.push_back(float(region % 3 - 1) * x + float(region % 5 - 2) * y + float(region) / 4);
  }
  return {Tensor::from(points, {count, 2}), Tensor::from(values, {count, 1})};
}

}  // namespace

int main() {
  Batch train = draw_regions(2000, 1), test = draw_regions(500, 2);
  auto trained = [&](double balance) {
    set_seed(3);
    Value in = Input({2});
    Value features = Dense(16, {.activation = "tanh"})(in);
    Layer mixture = make_layer<MixtureOfExperts>(16, 16, balance);
    Model model(in, Dense(1)(mixture(features)));
    model.compile({.optimizer = Adam({.learning_rate = 5e-3}), .loss = "mse"});
    model.fit(train[0], train[1], {.epochs = 40, .batch_size = 64, .verbose = 0});
    Tensor load = static_cast<const MixtureOfExperts&>(mixture.base()).load();
    Tensor error = model.predict(test[0]) - test[1];
    double mse = (error * error).mean();
    std::printf("balance %.2f: error %.3f, samples per expert", balance, mse);
    for (int64_t expert = 0; expert < kExperts; ++expert)
      std::printf(" %2.0f %%", 100 * load.at(expert));
    std::printf("\n");
    return std::pair(mse, load.max() - load.min());
  };
  auto [alone, uneven] = trained(0.0);
  auto [balanced, even] = trained(0.05);
  return even < uneven && balanced < 0.5 && alone < 0.5 ? 0 : 1;
}
