// Models with layers that are made of layers: trained, frozen, saved, resumed, summed up.
#include <algorithm>
#include <array>
#include <map>

#include "support/temp_dir.h"
#include "train/helpers.h"
#include "train/model/weight_paths.h"
#include "train/model/weights_hash.h"

namespace stoker {
namespace {

using namespace test;

// Two Dense layers around an own scale, as small as a layer made of layers gets.
class Mlp : public LayerBase {
  int64_t units_;

 public:
  explicit Mlp(int64_t units) : units_(units) {}
  std::string kind() const override { return "Mlp"; }
  Attrs config() const override { return {{"units", units_}}; }
  void build(const std::vector<Shape>& inputs) override {
    scale = add_weight("scale", {inputs[0][-1]}, {.initializer = "ones"});
  }
  Values call(const Values& inputs, CallContext&) override {
    return {narrow(wide(inputs[0] * scale))};
  }

  Dense wide{16, {.activation = "relu"}};
  Dense narrow{units_};
  Variable scale;
};

// Attention, a feed-forward Sequential, dropout and normalisations, as in every transformer.
class TransformerBlock : public LayerBase {
 public:
  TransformerBlock(int64_t width, double rate) : width_(width), rate_(rate) {}
  std::string kind() const override { return "TransformerBlock"; }
  Attrs config() const override { return {{"width", width_}, {"rate", rate_}}; }

  Values call(const Values& inputs, CallContext&) override {
    const Value& x = inputs[0];  // [B, T, C]
    Value query = projections_.at("query")(x), key = projections_.at("key")(x);
    Value scores =
        ops::matmul(query, key, {.transpose_b = true}) * (1.0 / std::sqrt(double(width_)));
    Value seen = ops::matmul(ops::softmax(scores), projections_.at("value")(x));
    Value middle = norms_[0](Add()({x, Dropout(rate_)(seen)}));
    return {norms_[1](Add()({middle, feed_forward_(middle)}))};
  }

 private:
  int64_t width_;
  double rate_;
  std::map<std::string, Layer> projections_ = {{"query", Dense(width_, {.name = "query"})},
                                               {"key", Dense(width_, {.name = "key"})},
                                               {"value", Dense(width_, {.name = "value"})}};
  std::array<LayerNormalization, 2> norms_;
  Sequential feed_forward_{{Dense(2 * width_, {.activation = "relu"}), Dense(width_)},
                           {.name = "feed_forward"}};
};

// Blocks in a vector, in a layer, in a layer.
class Encoder : public LayerBase {
 public:
  explicit Encoder(int64_t depth) : depth_(depth) {
    for (int64_t i = 0; i < depth; ++i)
      blocks_.push_back(i % 2 ? make_layer<TransformerBlock>(8, 0.1)
                              : make_layer<Encoder>(depth - 1));
    if (depth == 1) blocks_ = {make_layer<TransformerBlock>(8, 0.1)};
  }
  std::string kind() const override { return "Encoder"; }
  Attrs config() const override { return {{"depth", depth_}}; }
  Values call(const Values& inputs, CallContext&) override {
    Value x = inputs[0];
    for (const Layer& block : blocks_) x = block(x);
    return {x};
  }

 private:
  int64_t depth_;
  std::vector<Layer> blocks_;
};

const LoadArgs kOwnLayers = {
    .custom_layers = {
        {"Mlp", [](const Attrs& c) { return make_layer<Mlp>(c.get<int64_t>("units")); }},
        {"TransformerBlock",
         [](const Attrs& c) {
           return make_layer<TransformerBlock>(c.get<int64_t>("width"), c.get<double>("rate"));
         }},
        {"Encoder", [](const Attrs& c) { return make_layer<Encoder>(c.get<int64_t>("depth")); }}}};

std::vector<std::string> paths(const Model& model) {
  std::vector<std::string> all;
  for (const auto& [path, weight] : named_weights(ModelAccess::base(model))) all.push_back(path);
  return all;
}

Model mlp_model(const Layer& mlp, int64_t features = 4) {
  Value x = Input({features});
  Model model(x, Softmax()(mlp(x)));
  model.compile({.optimizer = Adam({.learning_rate = 0.02}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

class CompositeLayers : public DeviceTest {};
INSTANTIATE_ON_DEVICES(CompositeLayers);

TEST_P(CompositeLayers, LearnWithAllTheirWeights) {
  Data data = blobs(200, 4, 3, 5);
  Layer mlp = make_layer<Mlp>(3);
  Model model = mlp_model(mlp);
  std::vector<Tensor> before = mlp.get_weights();
  ASSERT_EQ(before.size(), 5U);
  model.fit(data.x, data.y, {.epochs = 10, .verbose = 0});
  EXPECT_GT(model.history()["accuracy"].back(), 0.95);
  std::vector<Tensor> after = mlp.get_weights();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NE(before[i], after[i]) << i;
}

TEST_P(CompositeLayers, TrainExactlyLikeTheSameLayersOneByOne) {
  Data data = blobs(64, 4, 3, 5);
  class Two : public LayerBase {
   public:
    std::string kind() const override { return "Two"; }
    Values call(const Values& inputs, CallContext&) override { return {b(a(inputs[0]))}; }
    Dense a{8, {.activation = "relu", .kernel_regularizer = "l2"}};
    Dense b{3, {.activation = "softmax"}};
  };
  auto trained = [&](const std::vector<Layer>& layers) {
    set_seed(3);
    std::vector<Layer> all = {Input({4})};
    all.insert(all.end(), layers.begin(), layers.end());
    Sequential model(all);
    model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
    model.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
    return weights_sha256(model);
  };
  EXPECT_EQ(trained({make_layer<Two>()}),
            trained({Dense(8, {.activation = "relu", .kernel_regularizer = "l2"}),
                     Dense(3, {.activation = "softmax"})}));
}

TEST(CompositeNames, AreThePathsOfTheWeights) {
  OnDevice device;
  Value x = Input({4});
  Model model(x, make_layer<Mlp>(2)(make_layer<Mlp>(4)(x)));
  EXPECT_EQ(paths(model),
            std::vector<std::string>({"mlp/dense/kernel", "mlp/dense/bias", "mlp/dense_1/kernel",
                                      "mlp/dense_1/bias", "mlp/scale", "mlp_1/dense/kernel",
                                      "mlp_1/dense/bias", "mlp_1/dense_1/kernel",
                                      "mlp_1/dense_1/bias", "mlp_1/scale"}));
  EXPECT_EQ(model.trainable_variables()[6].name(), "mlp_1/dense/kernel");
  EXPECT_EQ(model.get_layer("mlp_1/dense_1").parameters(), 16 * 2 + 2);
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.get_layer("mlp_1/dense_2"); }),
                   {"no layer \"mlp_1/dense_2\"", "mlp, mlp_1"}));
}

TEST(CompositeNames, KeepTheNamesThatAModelsLayersShareWithIt) {
  OnDevice device;
  Sequential model({Input({4}), Dense(2, {.name = "net/stem"})}, {.name = "net"});
  EXPECT_EQ(paths(model)[0], "net/stem/kernel");
  EXPECT_EQ(model.get_layer("net/stem").parameters(), 10);
}

TEST(CompositeNames, GoThroughModelsInsideOfLayers) {
  OnDevice device;
  Value x = Input({3, 8});
  Model model(x, make_layer<TransformerBlock>(8, 0.1)(x));
  EXPECT_EQ(paths(model)[0], "transformer_block/query/kernel");
  std::vector<std::string> all = paths(model);
  EXPECT_EQ(all.size(), 14U);
  EXPECT_NE(std::ranges::find(all, "transformer_block/feed_forward/dense_1/bias"), all.end());
  Layer inner = model.get_layer("transformer_block/feed_forward/dense");
  EXPECT_EQ(inner.parameters(), 8 * 16 + 16);
  EXPECT_EQ(inner.weights()[0].name(), "transformer_block/feed_forward/dense/kernel");
  model.get_layer(0).base().set_name("encoder");
  EXPECT_EQ(inner.weights()[0].name(), "encoder/feed_forward/dense/kernel");
}

TEST(CompositeSummary, CountsTheWeightsInside) {
  OnDevice device;
  Layer mlp = make_layer<Mlp>(3);
  Model model = mlp_model(mlp);
  EXPECT_EQ(model.count_params(), 4 + 4 * 16 + 16 + 16 * 3 + 3);
  EXPECT_TRUE(
      says(model.summary(), {"mlp (Mlp)", " 135 ", "Parameters: 135 (540 B), trainable 135"}));
  static_cast<Mlp&>(mlp.base()).wide.set_trainable(false);
  EXPECT_TRUE(says(model.summary(), {"trainable 55, non-trainable 80"}));
}

TEST_P(CompositeLayers, AreSavedAndLoadedAndGoOnToTheSameBits) {
  TempDir folder;
  Tensor x = normal({32, 5, 8}, 1), y = normal({32, 5, 8}, 2);
  auto make = [] {
    set_seed(2);
    Value in = Input({5, 8});
    Model model(in, make_layer<Encoder>(3)(in));
    model.compile({.optimizer = "adam", .loss = "mse"});
    return model;
  };
  Model model = make();
  EXPECT_EQ(model.weights().size(), 5U * 14U);
  model.fit(x, y, {.epochs = 2, .verbose = 0});
  model.save(folder / "half.stoker");
  Model loaded = load_model(folder / "half.stoker", kOwnLayers);
  EXPECT_EQ(paths(loaded), paths(model));
  EXPECT_EQ(loaded.predict(x), model.predict(x));
  loaded.fit(x, y, {.epochs = 4, .initial_epoch = 2, .verbose = 0});
  Model whole = make();
  whole.fit(x, y, {.epochs = 4, .verbose = 0});
  EXPECT_EQ(weights_sha256(loaded), weights_sha256(whole));
}

TEST(CompositeFiles, HoldWeightsThatOtherModelsLoad) {
  OnDevice device;
  TempDir folder;
  Model model = mlp_model(make_layer<Mlp>(3)), other = mlp_model(make_layer<Mlp>(3));
  Tensor x = normal({8, 4}, 3);
  EXPECT_NE(model.predict(x), other.predict(x));
  model.save_weights(folder / "w.safetensors");
  other.load_weights(folder / "w.safetensors");
  EXPECT_EQ(model.predict(x), other.predict(x));
  Model third = mlp_model(make_layer<Mlp>(3));
  LoadByNameResult result = load_weights_by_name(third, folder / "w.safetensors");
  EXPECT_EQ(result.loaded.size(), 5U);
  EXPECT_EQ(model.predict(x), third.predict(x));
}

TEST(CompositeFiles, KeepWhichLayersInsideAreFrozen) {
  OnDevice device;
  TempDir folder;
  Layer mlp = make_layer<Mlp>(3);
  Value x = Input({4});
  Model model(x, mlp(x));
  static_cast<Mlp&>(mlp.base()).wide.set_trainable(false);
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.fit(normal({8, 4}, 1), normal({8, 3}, 1), {.verbose = 0});
  model.save(folder / "m.stoker");
  Model loaded = load_model(folder / "m.stoker", kOwnLayers);
  EXPECT_EQ(loaded.trainable_variables().size(), 3U);
  EXPECT_FALSE(loaded.get_layer("mlp/dense").trainable());
  mlp.set_trainable(false);
  static_cast<Mlp&>(mlp.base()).narrow.set_trainable(true);
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.save(folder / "m.stoker");
  EXPECT_EQ(load_model(folder / "m.stoker", kOwnLayers).trainable_variables().size(), 2U);
}

TEST(CompositeCheckpoints, ResumeToTheSameBits) {
  OnDevice device;
  TempDir folder;
  Data data = blobs(64, 4, 3, 5);
  set_seed(4);
  Model whole = mlp_model(make_layer<Mlp>(3));
  whole.fit(data.x, data.y, {.epochs = 4, .verbose = 0});
  set_seed(4);
  Model first = mlp_model(make_layer<Mlp>(3));
  first.fit(data.x, data.y,
            {.epochs = 2,
             .verbose = 0,
             .callbacks = {BackupAndRestore(folder / "backup", {.delete_checkpoint = false})}});
  set_seed(4);
  Model second = mlp_model(make_layer<Mlp>(3));
  second.fit(data.x, data.y,
             {.epochs = 4, .verbose = 0, .callbacks = {BackupAndRestore(folder / "backup")}});
  EXPECT_EQ(weights_sha256(second), weights_sha256(whole));
}

TEST_P(CompositeLayers, StayFrozenAsCompileSawThem) {
  Data data = blobs(64, 4, 3, 5);
  Layer mlp = make_layer<Mlp>(3);
  auto& base = static_cast<Mlp&>(mlp.base());
  Value x = Input({4});
  Model model(x, Softmax()(mlp(x)));
  base.wide.set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  mlp.set_trainable(false);  // too late for this compile()
  std::vector<Tensor> wide = base.wide.get_weights(), narrow = base.narrow.get_weights();
  model.fit(data.x, data.y, {.verbose = 0});
  EXPECT_EQ(base.wide.get_weights(), wide);
  EXPECT_NE(base.narrow.get_weights(), narrow);
  EXPECT_FALSE(base.narrow.trainable());
  base.narrow.set_trainable(true);
  model.train_on_batch(data.x.slice(0, 7), data.y.slice(0, 7));  // traced anew
  EXPECT_FALSE(mlp.trainable());
  EXPECT_FALSE(base.wide.trainable());
  EXPECT_TRUE(base.narrow.trainable());
}

// A student that learns what a frozen teacher says; both inside of one layer.
class Distiller : public LayerBase {
 public:
  Distiller(Model teacher, Layer student)
      : teacher_(std::move(teacher)), student_(std::move(student)) {}
  std::string kind() const override { return "Distiller"; }
  Values call(const Values& inputs, CallContext& context) override {
    Value says = student_(inputs[0]);
    Value truth = teacher_(inputs[0], {.training = false});
    context.add_loss(ops::mean(ops::square(says - ops::stop_gradient(truth))));
    return {says};
  }

 private:
  Model teacher_;
  Layer student_;
};

TEST_P(CompositeLayers, LeaveAFrozenTeacherAsItIs) {
  Tensor x = normal({32, 4}, 1), y = normal({32, 2}, 2);
  Sequential teacher({Input({4}), Dense(8), BatchNormalization(), Dropout(0.5), Dense(2)},
                     {.name = "teacher"});
  teacher.set_trainable(false);
  std::vector<Tensor> before = teacher.get_weights();
  std::string name = teacher.weights()[0].name();
  Value in = Input({4});
  Model model(in, make_layer<Distiller>(teacher, Dense(2))(in));
  EXPECT_EQ(model.trainable_variables().size(), 2U);
  EXPECT_EQ(model.weights().size(), 2U + teacher.weights().size());
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(x, y, {.epochs = 2, .verbose = 0});
  EXPECT_EQ(teacher.get_weights(), before);
  EXPECT_EQ(teacher.name(), "teacher");
  EXPECT_EQ(teacher.weights()[0].name(), name);
  EXPECT_FALSE(teacher.trainable());
  std::vector<std::string> all = paths(model);
  EXPECT_NE(std::ranges::find(all, "distiller/teacher/dense/kernel"), all.end());
}

TEST_P(CompositeLayers, ShareALayerBetweenTwoParents) {
  class Tied : public LayerBase {
   public:
    explicit Tied(Layer shared) : shared_(std::move(shared)) {}
    std::string kind() const override { return "Tied"; }
    Values call(const Values& inputs, CallContext&) override { return {own_(shared_(inputs[0]))}; }

   private:
    Layer shared_;
    Dense own_{4};
  };
  Layer shared = Dense(4);
  Value x = Input({4});
  Model model(x, make_layer<Tied>(shared)(make_layer<Tied>(shared)(x)));
  EXPECT_EQ(model.count_params(), 3 * 20);
  EXPECT_EQ(paths(model).size(), 6U);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  std::vector<Tensor> before = shared.get_weights();
  model.fit(normal({16, 4}, 1), normal({16, 4}, 2), {.verbose = 0});
  EXPECT_NE(shared.get_weights(), before);
}

TEST(CompositePolicies, TrainInBfloat16) {
  OnDevice device("cpu");
  Context context{.policy = "mixed_bfloat16", .out = nullptr};
  Value x = Input({5, 8});
  Model model(x, make_layer<TransformerBlock>(8, 0.1)(x));
  model.compile({.optimizer = "adam", .loss = "mse", .context = &context});
  model.fit(normal({16, 5, 8}, 1), normal({16, 5, 8}, 2), {.epochs = 2, .verbose = 0});
  EXPECT_TRUE(std::isfinite(model.history()["loss"].back()));
}

TEST(CompositeCalls, InAnOwnLoopTrainWhatTheyFound) {
  OnDevice device;
  Layer mlp = make_layer<Mlp>(1);
  Adam adam({.learning_rate = 0.02});
  auto step = function([&](const Value& x, const Value& y) {
    Value loss = ops::mean(ops::square(mlp(x) - y));
    adam.apply(gradients(loss, mlp.trainable_weights()), mlp.trainable_weights());
    return loss;
  });
  Data data = line(64, 1);
  double first = step(data.x, data.y), last = first;
  for (int i = 0; i < 200; ++i) last = step(data.x, data.y);
  EXPECT_LT(last, 0.05 * first);
}

}  // namespace
}  // namespace stoker
