// The user's own code in model files: layers, losses, metrics and schedules, which a file names and
// custom_objects brings.
#include <cstring>

#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::OnDevice;
using test::says;

class Scale : public LayerBase {
 public:
  explicit Scale(double start) : start_(start) {}
  std::string kind() const override { return kind_name; }
  void build(const std::vector<Shape>& inputs) override {
    scale_ = add_weight("scale", {inputs[0][-1]}, {.initializer = Constant(start_)});
  }
  Values call(const Values& inputs, CallContext&) override { return {inputs[0] * scale_}; }
  Attrs config() const override { return {{"start", start_}}; }
  std::string kind_name = "Scale";

 private:
  double start_;
  Variable scale_;
};

Layer scale_from(const Attrs& config) { return make_layer<Scale>(config.get<double>("start")); }

Value twice(const Value& x) { return x * 2.0; }
Value distance(const Value& t, const Value& p) { return ops::abs(t - p); }
Value first_rate(const Value& step) { return step * 0.0 + 0.125; }

class CustomObjectsOf : public testing::Test {
 protected:
  OnDevice device_;
  test::TempDir dir_;
  std::string path_ = dir_ / "m.stoker";
  Tensor x_ = test::normal({4, 3}, 1), y_ = test::normal({4, 1}, 2);

  Model saved(const CompileArgs& args) {
    Sequential model({Input({3}), Dense(1)});
    model.compile(args);
    model.fit(x_, y_, {.epochs = 2, .verbose = 0});
    model.save(path_);
    return model;
  }
  Model saved(const std::vector<Layer>& layers) {
    Sequential model(layers);
    model.save(path_);
    return model;
  }
  std::string load_error(const LoadArgs& args = {}) {
    std::string text = error_of<FileError>([&] { load_model(path_, args); });
    EXPECT_EQ(text.find(path_), 0U) << text;
    return text;
  }
  // Both go on as one would.
  void expect_same_training(const Model& model, const Model& loaded) {
    for (const Model* each : {&model, &loaded})
      each->fit(x_, y_, {.epochs = 4, .initial_epoch = 2, .verbose = 0});
    EXPECT_EQ(loaded.get_weights(), model.get_weights());
    EXPECT_EQ(loaded.history().names(), model.history().names());
  }
};

TEST_F(CustomObjectsOf, ALossAreItsName) {
  Loss mine("my_loss", distance);
  Model model = saved({.optimizer = "adam", .loss = mine});
  EXPECT_TRUE(
      says(load_error(), {"\"my_loss\"", "{.custom_objects = {.losses = {{\"my_loss\", ...}}}}",
                          "{.compile = false}"}));
  expect_same_training(model,
                       load_model(path_, {.custom_objects = {.losses = {{"my_loss", mine}}}}));
}

TEST_F(CustomObjectsOf, ALossThatIsCalledLikeABuiltInOneAreNotReplacedByIt) {
  saved({.loss = Loss("MeanSquaredError", distance), .metrics = {Metric("Accuracy", distance)}});
  EXPECT_TRUE(says(load_error(), {"\"MeanSquaredError\"", ".losses"}));
  EXPECT_TRUE(says(load_error({.custom_objects = {.losses = {{"MeanSquaredError", "mae"}}}}),
                   {"\"Accuracy\"", ".metrics"}));
}

TEST_F(CustomObjectsOf, AMetricAreItsNameToo) {
  Metric off("off_by", distance);
  Model model = saved({.loss = "mse", .metrics = {"mae", off}});
  EXPECT_TRUE(says(load_error(), {"\"off_by\"", "{.metrics = {{\"off_by\", ...}}}"}));
  Model loaded = load_model(path_, {.custom_objects = {.metrics = {{"off_by", off}}}});
  EXPECT_EQ(loaded.evaluate(x_, y_)["off_by"], model.evaluate(x_, y_)["off_by"]);
  expect_same_training(model, loaded);
}

TEST_F(CustomObjectsOf, AScheduleAreItsNameAloneOrInsideAWarmUp) {
  LearningRateSchedule mine("first_rate", first_rate);
  for (const LearningRateSchedule& schedule :
       {mine, WarmUp({.schedule = mine, .warmup_steps = 3}),
        WarmUp({.schedule = WarmUp({.schedule = mine, .warmup_steps = 1}), .warmup_steps = 2})}) {
    Model model = saved({.optimizer = SGD({.learning_rate = schedule}), .loss = "mse"});
    EXPECT_TRUE(says(load_error(), {"\"first_rate\"", ".schedules"}));
    Model loaded = load_model(path_, {.custom_objects = {.schedules = {{"first_rate", mine}}}});
    EXPECT_EQ(loaded.optimizer().learning_rate(), model.optimizer().learning_rate());
    expect_same_training(model, loaded);
  }
}

TEST_F(CustomObjectsOf, LossesAreNotNeededWhereTheModelIsNotCompiled) {
  Model model = saved({.loss = Loss("my_loss", distance), .metrics = {Metric("m", distance)}});
  Model loaded = load_model(path_, {.compile = false});
  EXPECT_FALSE(loaded.compiled());
  EXPECT_EQ(loaded.predict(x_), model.predict(x_));
}

TEST_F(CustomObjectsOf, UndefinedObjectsAreRefused) {
  saved({.loss = Loss("my_loss", distance)});
  EXPECT_TRUE(says(load_error({.custom_objects = {.losses = {{"my_loss", Loss()}}}}),
                   {"\"my_loss\"", "undefined"}));
}

TEST_F(CustomObjectsOf, ALayerAreItsKindUnderEitherName) {
  Model model = saved({Input({3}), make_layer<Scale>(2.5), make_layer<Scale>(0.5)});
  EXPECT_TRUE(says(load_error(), {"layer 0", "{.layers = {{\"Scale\", [](const Attrs& config)"}));
  for (const LoadArgs& args : {LoadArgs{.custom_objects = {.layers = {{"Scale", scale_from}}}},
                               LoadArgs{.custom_layers = {{"Scale", scale_from}}}})
    EXPECT_EQ(load_model(path_, args).predict(x_), model.predict(x_));
  EXPECT_TRUE(says(load_error({.custom_objects = {.layers = {{"Scale", scale_from}}},
                               .custom_layers = {{"Scale", scale_from}}}),
                   {"\"Scale\"", "both"}));
}

TEST_F(CustomObjectsOf, ALayerThatIsCalledLikeABuiltInOneAreNotReplacedByIt) {
  Layer own = make_layer<Scale>(1.0);
  static_cast<Scale&>(own.base()).kind_name = "Flatten";
  saved({Input({3}), own});
  EXPECT_TRUE(says(load_error(), {"\"Flatten\"", "C++ code", ".custom_objects"}));
}

TEST_F(CustomObjectsOf, LayersThatHoldAFunctionAreTheirNames) {
  HostForward copy = [](const Tensor& x, Tensor& y) {
    std::memcpy(y.raw_mut(), x.raw(), x.bytes());
  };
  Sequential inner({Input({3}), Lambda(twice, {.name = "twice"})}, {.name = "inner"});
  Model model =
      saved({Input({3}), Lambda(twice), Dense(3, {.activation = twice, .name = "doubled"}),
             HostLayer(copy, {}, {.name = "copy"}), inner});
  LayerFactory lambda = [](const Attrs&) { return Lambda(twice); };
  LayerFactory doubled = [](const Attrs& config) {
    return Dense(config.get<int64_t>("units"), {.activation = twice});
  };
  LayerFactory host = [=](const Attrs&) { return HostLayer(copy); };
  CustomObjects objects;
  EXPECT_TRUE(says(load_error({objects}), {"Lambda \"lambda\"", "{{\"lambda\", "}));
  objects.layers["lambda"] = lambda;
  EXPECT_TRUE(says(load_error({objects}), {"Dense \"doubled\"", "{{\"doubled\", "}));
  objects.layers["doubled"] = doubled;
  EXPECT_TRUE(says(load_error({objects}), {"HostLayer \"copy\"", "{{\"copy\", "}));
  objects.layers["copy"] = host;
  EXPECT_TRUE(says(load_error({objects}), {"Lambda \"twice\"", "{{\"twice\", "}));
  for (const char* key : {"twice", "inner/twice"}) {
    CustomObjects all = objects;
    all.layers[key] = lambda;
    EXPECT_EQ(load_model(path_, {all}).predict(x_), model.predict(x_)) << key;
  }
}

TEST_F(CustomObjectsOf, TwoLayersOfOneNameAreTheirPaths) {
  auto inner = [](const std::string& name, double factor) {
    return Sequential({Input({3}), Lambda([factor](const Value& x) { return x * factor; })},
                      {.name = name});
  };
  Model model = saved({Input({3}), inner("a", 3.0), inner("b", 5.0)});
  auto times = [](double factor) {
    return [factor](const Attrs&) -> Layer {
      return Lambda([factor](const Value& x) { return x * factor; });
    };
  };
  EXPECT_TRUE(says(load_error({.custom_objects = {.layers = {{"lambda", times(3)}}}}),
                   {"\"a/lambda\"", "\"b/lambda\""}));
  Model loaded = load_model(
      path_, {.custom_objects = {.layers = {{"a/lambda", times(3)}, {"b/lambda", times(5)}}}});
  EXPECT_EQ(loaded.predict(x_), model.predict(x_));
}

TEST_F(CustomObjectsOf, MakersThatFailAreNamed) {
  saved({Input({3}), make_layer<Scale>(2.5), make_layer<Scale>(0.5)});
  auto with = [&](const LayerFactory& make) {
    return load_error({.custom_objects = {.layers = {{"Scale", make}}}});
  };
  EXPECT_TRUE(says(with([](const Attrs&) { return Layer(); }), {"Scale \"scale\"", "empty Layer"}));
  EXPECT_TRUE(
      says(with([](const Attrs&) { return Dense(1); }), {"Scale \"scale\"", "kind \"Dense\""}));
  EXPECT_TRUE(says(with([](const Attrs&) -> Layer { throw std::runtime_error("no idea"); }),
                   {"Scale \"scale\"", "no idea"}));
  EXPECT_TRUE(says(with({}), {"Scale \"scale\"", "failed"}));
  Layer one = make_layer<Scale>(1.0);
  EXPECT_TRUE(says(with([&](const Attrs&) { return one; }), {"Scale \"scale_1\"", "before"}));
}

TEST_F(CustomObjectsOf, KindsThatMeanAModelAreRefusedWhenSaving) {
  Layer own = make_layer<Scale>(1.0);
  static_cast<Scale&>(own.base()).kind_name = "Sequential";
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     Sequential({Input({3}), own}).save(path_);
                   }),
                   {"kind()", "\"Sequential\""}));
}

}  // namespace
}  // namespace stoker
