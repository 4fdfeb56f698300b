#include <filesystem>
#include <fstream>

#include "train/model_files.h"

namespace stoker {
namespace {

using test::error_of;
using test::Json;
using test::OnDevice;
using test::says;
using test::TempDir;

class ModelFile : public test::ModelFiles {};

TEST_F(ModelFile, KeepsAFunctionalModelWithAllItsConnections) {
  Model model = branched();
  model.save(path_);
  Model loaded = load_model(path_);
  Tensor a = test::normal({3, 6}, 1), b = test::normal({3, 6}, 2);
  EXPECT_EQ(loaded.predict_all({a, b}), model.predict_all({a, b}));
  EXPECT_EQ(loaded.summary(), model.summary());
  EXPECT_EQ(loaded.get_weights(), model.get_weights());
  EXPECT_FALSE(loaded.compiled());
}

TEST_F(ModelFile, WritesTheSameBytesAgain) {
  branched().save(path_);
  load_model(path_).save(dir_ / "again.stoker");
  EXPECT_EQ(read_file(path_), read_file(dir_ / "again.stoker"));
}

TEST_F(ModelFile, TrainingGoesOnExactlyWhereItStopped) {
  test::Data data = test::blobs(60, 4, 3, 7);
  set_seed(9);
  Sequential whole = compiled();
  whole.fit(data.x, data.y, {.epochs = 4, .batch_size = 16});

  set_seed(9);
  Sequential first = compiled();
  first.fit(data.x, data.y, {.epochs = 2, .batch_size = 16});
  first.save(path_);
  set_seed(1234);  // the file brings its seed
  Model second = load_model(path_);
  second.fit(data.x, data.y, {.epochs = 4, .batch_size = 16, .initial_epoch = 2});
  EXPECT_EQ(second.get_weights(), whole.get_weights());
  EXPECT_EQ(second.optimizer().iterations(), whole.optimizer().iterations());
  EXPECT_EQ(second.run_plan().seed, 9U);
}

TEST_F(ModelFile, KeepsHalfAccumulatedGradients) {
  test::Data data = test::blobs(24, 4, 3, 7);
  auto make = [] {
    set_seed(4);
    Sequential model({Input({4}), Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = SGD(
                       {.learning_rate = 0.1, .momentum = 0.9, .gradient_accumulation_steps = 3}),
                   .loss = "sparse_categorical_crossentropy"});
    return model;
  };
  Sequential whole = make(), first = make();
  FitArgs args{.batch_size = 6, .shuffle = false};  // four batches: one more than an update takes
  whole.fit(data.x, data.y, args);
  whole.fit(data.x, data.y, args);
  first.fit(data.x, data.y, args);
  first.save(path_);
  Model second = load_model(path_);
  second.fit(data.x, data.y, args);
  EXPECT_EQ(second.get_weights(), whole.get_weights());
}

TEST_F(ModelFile, WithoutTheOptimizerIsNotCompiled) {
  Sequential model = compiled();
  model.save(path_, {.include_optimizer = false});
  EXPECT_FALSE(load_model(path_).compiled());
  for (const auto& [name, tensor] : read_safetensors(path_).tensors)
    EXPECT_EQ(name.rfind("weights/", 0), 0U) << name;
}

TEST_F(ModelFile, RemembersWhatWasFrozen) {
  Sequential model = compiled();
  model.get_layer("dense").set_trainable(false);
  model.save(path_, {.include_optimizer = false});
  EXPECT_EQ(load_model(path_).trainable_variables().size(), 2U);
}

class Scale : public LayerBase {
 public:
  explicit Scale(double start) : start_(start) {}
  std::string kind() const override { return "Scale"; }
  void build(const std::vector<Shape>& inputs) override {
    scale_ = add_weight("scale", {inputs[0][-1]}, {.initializer = Constant(start_)});
  }
  Values call(const Values& inputs, CallContext&) override { return {inputs[0] * scale_}; }
  Attrs config() const override { return {{"start", start_}}; }

 private:
  double start_;
  Variable scale_;
};

TEST_F(ModelFile, KeepsAModelInsideALayer) {
  Value frame = Input({4});
  Value scaled = Dense(3, {.activation = "relu", .name = "first"})(frame) * 2.0 +
                 Tensor::from({1.0F, 2.0F, 3.0F}, {3});
  Model inner(frame, BatchNormalization()(scaled), {.name = "of_a_frame"});
  Sequential list({Input({3}), Dense(2, {.name = "second"})});
  Value video = Input({5, 4});
  Model model(video, TimeDistributed(list)(TimeDistributed(inner)(video)));
  list.get_layer("second").set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  Tensor x = test::normal({6, 5, 4}, 1);
  model.fit(x, test::normal({6, 5, 2}, 2), {.epochs = 1, .verbose = 0});
  model.save(path_);
  Model loaded = load_model(path_);
  EXPECT_EQ(loaded.predict(x), model.predict(x));
  EXPECT_EQ(loaded.trainable_variables().size(), model.trainable_variables().size());
  Model clone = clone_model(model);
  EXPECT_FALSE(clone.get_weights()[0] == model.get_weights()[0]);
  clone.set_weights(model.get_weights());
  EXPECT_EQ(clone.predict(x), model.predict(x));
  EXPECT_EQ(deserialize<Layer>(serialize(model.layers()[0])).base().kind(), "TimeDistributed");
  loaded.save(dir_ / "again.stoker");
  EXPECT_EQ(load_model(dir_ / "again.stoker").predict(x), model.predict(x));
}

TEST_F(ModelFile, OwnLayersComeFromTheProgramThatLoads) {
  Sequential model({Input({3}), make_layer<Scale>(2.5), Dense(1)});
  model.save(path_);
  EXPECT_TRUE(says(error_of<FileError>([&] { load_model(path_); }), {"Scale", "layer 0"}));
  Model loaded =
      load_model(path_, {.custom_layers = {{"Scale", [](const Attrs& config) {
                                              return make_layer<Scale>(config.get<double>("start"));
                                            }}}});
  Tensor x = test::normal({2, 3}, 1);
  EXPECT_EQ(loaded(x), model(x));
}

TEST_F(ModelFile, HoldsWeightsAlone) {
  Sequential model = compiled(), other = compiled();
  EXPECT_NE(model.get_weights(), other.get_weights());
  model.save_weights(path_);
  other.load_weights(path_);
  EXPECT_EQ(model.get_weights(), other.get_weights());
  EXPECT_TRUE(
      says(error_of<FileError>([&] { load_model(path_); }), {"stoker-weights", "stoker-model"}));
  model.save(dir_ / "whole.stoker");
  other.load_weights(dir_ / "whole.stoker");  // the weights of a whole model do too
  Sequential third({Input({4}), Dense(6), Dense(3)});
  std::vector<Tensor> before = third.get_weights();
  EXPECT_TRUE(says(error_of<FileError>([&] { third.load_weights(path_); }),
                   {"weights/dense/kernel", "[4, 5]", "[4, 6]", "weights/dense/bias",
                    "weights/dense_1/kernel", "load_weights_by_name()"}));
  EXPECT_EQ(third.get_weights(), before);
}

TEST_F(ModelFile, ThatIsMissingOrOfAnotherKindSaysSo) {
  EXPECT_TRUE(
      says(error_of<FileError>([&] { load_model(dir_ / "none.stoker"); }), {"none.stoker"}));
  dir_.write("m.stoker", "not a model");
  EXPECT_THROW(load_model(path_), FileError);
  write_safetensors(path_, {});
  EXPECT_TRUE(says(error_of<FileError>([&] { load_model(path_); }), {"\"format\" is missing"}));
  EXPECT_THROW(Sequential({Dense(1)}).save(path_), Error);  // not built
}

TEST_F(ModelFile, WithAnyBitFlippedIsAnErrorThatNamesIt) {
  Sequential model({Input({2}), Dense(1, {.name = "d"})});
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.save(path_);
  const std::string whole = read_text(path_);
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    std::string bytes = whole;
    bytes[byte] = char(bytes[byte] ^ 1 << byte % 8);
    write_file_atomically(path_, bytes);
    std::string text = error_of<FileError>([&] { load_model(path_); });
    EXPECT_EQ(text.rfind(path_, 0), 0U) << "byte " << byte << ": " << text;
  }
}

TEST_F(ModelFile, WithADamagedTensorNamesTheTensor) {
  for (const char* kind : {"model", "weights"}) {
    Sequential model = compiled();
    kind == std::string("model") ? model.save(path_) : model.save_weights(path_);
    std::string bytes = read_text(path_);
    size_t place = kind == std::string("model") ? bytes.size() - 9 : bytes.size() - 1;
    bytes[place] = char(bytes[place] ^ 4);
    write_file_atomically(path_, bytes);
    auto load = [&] {
      kind == std::string("model") ? void(load_model(path_)) : model.load_weights(path_);
    };
    EXPECT_TRUE(
        says(error_of<FileError>(load),
             {kind == std::string("model") ? "\"random_state\"" : "\"weights/dense_1/bias\"",
              "damaged"}));
  }
}

TEST_F(ModelFile, ThatHasLostItsChecksumsIsRefused) {
  EXPECT_TRUE(
      says(error_after_file(compiled(), [](SafetensorsFile& file) { file.checksums = false; }),
           {"checksums are missing"}));
}

TEST_F(ModelFile, ThatIsNoFileAtAllSaysSo) {
  std::filesystem::create_directory(dir_ / "folder");
  for (const char* name : {"folder", "none.stoker", "none/m.stoker"})
    EXPECT_TRUE(says(error_of<FileError>([&] { load_model(dir_ / name); }), {name}));
  dir_.write("m.stoker", "");
  EXPECT_TRUE(says(error_of<FileError>([&] { load_model(path_); }), {"m.stoker", "got 0"}));
  Sequential model = compiled();
  for (const char* name : {"folder", "none/m.stoker"})
    EXPECT_TRUE(says(error_of<FileError>([&] { model.save(dir_ / name); }), {name}));
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "folder"));
}

TEST_F(ModelFile, KeepsNamesOfAnyLetters) {
  Sequential a({Input({2}), Dense(2, {.name = "b/c"})}, {.name = "a"});
  Sequential ab({Input({2}), Dense(2, {.name = "c"})}, {.name = "a/b"});
  Sequential model(
      {Input({2}), a, ab, Dense(2, {.name = "größe \"1\"\n"}), Dense(2, {.name = "."})},
      {.name = "a"});
  model.save(path_);
  Model loaded = load_model(path_);
  EXPECT_EQ(loaded.get_weights(), model.get_weights());
  EXPECT_EQ(loaded.summary(), model.summary());
  Sequential odd({Input({2}), Dense(2, {.name = "\xff"})});
  EXPECT_TRUE(says(error_of<ValueError>([&] { odd.save(path_); }), {"UTF-8"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { odd.save_weights(path_); }), {"UTF-8"}));
}

TEST_F(ModelFile, MayBeWrittenByACallbackDuringFit) {
  test::Data data = test::blobs(24, 4, 3, 7);
  Sequential model = compiled();
  LambdaCallback saver({.on_epoch_end = [&](int64_t, const Logs&) { model.save(path_); }});
  model.fit(data.x, data.y, {.epochs = 2, .callbacks = {saver}});
  EXPECT_EQ(load_model(path_).get_weights(), model.get_weights());
}

TEST_F(ModelFile, NestedTooDeepIsRefusedWhenItIsSaved) {
  Model model = Sequential({Input({2}), Dense(2)});
  for (int depth = 0; depth < 33; ++depth) model = Sequential({Input({2}), model});
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.save(path_); }), {"nested", "32"}));
}

}  // namespace
}  // namespace stoker
