// Layers of one's own: one written with Stoker's ops, which runs on the device and differentiates
// by itself, and one made of other layers.
#include <cmath>
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

// Gaussian bumps with learned centres and widths: exp(-|x - centre|² · width²).  [B, 2] → [B,
// bumps]
class RadialBasis : public LayerBase {
 public:
  explicit RadialBasis(int64_t bumps) : bumps_(bumps) {}

  std::string kind() const override { return "RadialBasis"; }

  void build(const std::vector<Shape>& inputs) override {
    centres_ = add_weight("centres", {bumps_, inputs[0][-1]},
                          {.initializer = RandomUniform({.minval = -2, .maxval = 2})});
    widths_ = add_weight("widths", {bumps_}, {.initializer = "ones"});
  }

  Values call(const Values& inputs, CallContext&) override {
    Value x = ops::expand_dims(inputs[0], 1);                             // [B, 1, 2]
    Value distance = ops::sum(ops::square(x - centres_), {.axes = {2}});  // [B, bumps]
    return {ops::exp(-(distance * ops::square(widths_)))};
  }

 private:
  int64_t bumps_;
  Variable centres_, widths_;
};

// Bumps and a classifier on them. What call() calls belongs to the layer, weights and all.
class RingClassifier : public LayerBase {
 public:
  explicit RingClassifier(int64_t bumps)
      : bumps_(bumps), features_(make_layer<RadialBasis>(bumps)) {}

  std::string kind() const override { return "RingClassifier"; }
  Attrs config() const override { return {{"bumps", bumps_}}; }  // what save() writes

  Values call(const Values& inputs, CallContext&) override {
    return {head_(norm_(features_(inputs[0])))};
  }

 private:
  int64_t bumps_;
  Layer features_;
  LayerNormalization norm_;
  Dense head_{2, {.activation = "softmax"}};
};

}  // namespace

int main() {
  set_seed(3);
  // Two rings: inside or outside of a circle?
  Tensor x(DType::float32, {800, 2}), y(DType::int32, {800});
  Rng rng(1);
  for (int row = 0; row < 800; ++row) {
    float angle = rng.uniform(0, 6.2832F),
          radius = row % 2 ? rng.uniform(0, 1) : rng.uniform(1.3F, 2);
    x.data_mut<float>()[2 * row] = radius * std::cos(angle);
    x.data_mut<float>()[2 * row + 1] = radius * std::sin(angle);
    y.data_mut<int32_t>()[row] = row % 2;
  }

  Sequential model({Input({2}), make_layer<RingClassifier>(16)});
  model.compile({.optimizer = Adam({.learning_rate = 0.02}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  std::printf("%s\n", model.summary().c_str());
  History history = model.fit(x, y, {.epochs = 15});

  model.save("rings.stoker");
  LayerFactory again = [](const Attrs& config) {
    return make_layer<RingClassifier>(config.get<int64_t>("bumps"));
  };
  Model loaded =
      load_model("rings.stoker", {.custom_objects = {.layers = {{"RingClassifier", again}}}});
  std::printf("loaded: %s\n", to_string(loaded.evaluate(x, y)).c_str());
  return history["accuracy"].back() > 0.95 ? 0 : 1;
}
