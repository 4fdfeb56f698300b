// register_keras_serializable and its kind, Config, clear_session, endings of Keras's files.
#include <stoker/config.h>
#include <stoker/custom_objects.h>
#include <stoker/serialize.h>

#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

class Doubled : public LayerBase {
 public:
  std::string kind() const override { return "Doubled"; }
  Values call(const Values& inputs, CallContext&) override { return {inputs[0] * 2.0}; }
};

Layer make_doubled(const Attrs&) { return make_layer<Doubled>(); }
Value gap(const Value& t, const Value& p) { return ops::abs(t - p); }

// What a test registers is gone behind it.
struct Registered : testing::Test {
  OnDevice device;
  TempDir dir;
  CustomObjects before = get_custom_objects();
  ~Registered() override { get_custom_objects() = before; }
};

TEST_F(Registered, ObjectsAreFoundWithoutBeingPassed) {
  Sequential model({Input({2}), make_layer<Doubled>(), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = Loss("gap", gap)});
  model.save(dir / "m.stoker");
  EXPECT_THROW(load_model(dir / "m.stoker"), FileError);
  register_keras_serializable("Doubled", make_doubled);
  register_keras_serializable(Loss("gap", gap));
  EXPECT_EQ(load_model(dir / "m.stoker").get_weights(), model.get_weights());
  EXPECT_EQ(get_registered_name(make_layer<Doubled>()), "Doubled");
  EXPECT_EQ(get_registered_name(Loss("gap", gap)), "gap");
  EXPECT_TRUE(std::holds_alternative<LayerFactory>(*get_registered_object("Doubled")));
  EXPECT_TRUE(std::holds_alternative<Loss>(*get_registered_object("gap")));
  EXPECT_FALSE(get_registered_object("nothing"));
  EXPECT_EQ(deserialize<Layer>(serialize(make_layer<Doubled>())).base().kind(), "Doubled");
  EXPECT_THROW(register_keras_serializable("", make_doubled), ValueError);
}

TEST_F(Registered, AScopeEndsWithItsBlock) {
  Sequential model({Input({2}), make_layer<Doubled>()});
  model.save(dir / "m.stoker");
  {
    CustomObjectScope scope({.layers = {{"Doubled", make_doubled}}});
    EXPECT_NO_THROW(load_model(dir / "m.stoker"));
  }
  EXPECT_THROW(load_model(dir / "m.stoker"), FileError);
}

TEST(ClearSession, BeginsAnew) {
  OnDevice device;
  std::vector<Tensor> first = Sequential({Input({3}), Dense(2)}).get_weights();
  EXPECT_NE(Sequential({Input({3}), Dense(2)}).get_weights(), first);
  set_global_policy("mixed_bfloat16");
  clear_session();
  EXPECT_EQ(Sequential({Input({3}), Dense(2)}).get_weights(), first);
  EXPECT_EQ(default_context().policy, "float32");
}

TEST(Config, HoldsNamedValuesUntilItIsFrozen) {
  utils::Config config({{"learning_rate", 0.5}, {"batch", int64_t(64)}});
  config["seed"] = int64_t(7);
  config.update({{"name", std::string("a")}});
  EXPECT_EQ(config.get<int64_t>("seed"), 7);
  EXPECT_EQ(config.get_or("missing", 2.5), 2.5);
  EXPECT_EQ(config.keys(), (std::vector<std::string>{"batch", "learning_rate", "name", "seed"}));
  EXPECT_EQ(std::get<std::string>(config.pop("name")), "a");
  EXPECT_EQ(utils::Config::from_json(config.to_json()).as_dict(), config.as_dict());
  config.freeze();
  EXPECT_THROW(config["seed"] = int64_t(8), ValueError);
  EXPECT_THROW(config.pop("seed"), ValueError);
  config.unfreeze();
  config["seed"] = int64_t(8);
  EXPECT_EQ(config.get<int64_t>("seed"), 8);
  EXPECT_TRUE(says(error_of<ValueError>([&] { config.get<double>("learnin_rate"); }),
                   {"learnin_rate", "did you mean \"learning_rate\""}));
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { config.get<double>("x"); }), {"batch, learning_rate"}));
}

TEST(SavedUnderKerasEndings, IsRefusedWithAdvice) {
  OnDevice device;
  TempDir dir;
  Sequential model = line_model();
  for (const char* name : {"m.keras", "m.h5", "m.weights.h5"}) {
    auto refused = [&](auto save) {
      EXPECT_TRUE(says(error_of<ValueError>(save), {name, ".stoker", "export_onnx"})) << name;
    };
    refused([&] { model.save(dir / name); });
    refused([&] { model.save_weights(dir / name); });
    Data data = line(8, 1);
    refused([&] { model.fit(data.x, data.y, {.callbacks = {ModelCheckpoint(dir / name)}}); });
  }
}

}  // namespace
}  // namespace stoker
