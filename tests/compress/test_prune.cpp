// prune() and the callback Pruning: single weights and patterns.
#include <stoker/prune.h>

#include <algorithm>
#include <sstream>

#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

Model classifier(const std::string& name = "classifier") {
  return Sequential({Input({8}), Dense(32, {.activation = "relu", .name = "hidden"}),
                     Dense(16, {.activation = "relu", .name = "middle"}),
                     Dense(3, {.activation = "softmax", .name = "head"})},
                    {.name = name});
}

void compile(const Model& model, const Optimizer& optimizer = "adam") {
  model.compile({.optimizer = optimizer, .loss = "sparse_categorical_crossentropy"});
}

int64_t zeros_in(const Tensor& tensor) { return std::ranges::count(tensor.values<float>(), 0.0F); }

Tensor kernel_of(const Model& model, const char* layer) {
  return model.get_layer(layer).get_weights()[0];
}

class Prune : public DeviceTest {
 protected:
  Data data_ = blobs(96, 8, 3, 5);
};
INSTANTIATE_ON_DEVICES(Prune);

TEST_P(Prune, HidesTheSmallestWeightsOfEveryKernel) {
  Model model = classifier();
  Tensor before = kernel_of(model, "hidden");
  PruneReport report = prune(model, {.sparsity = 0.75});
  Tensor after = kernel_of(model, "hidden");
  EXPECT_EQ(zeros_in(after), 192);  // of 256
  float largest_hidden = 0, smallest_kept = 1e9F;
  for (int64_t i = 0; i < before.elements(); ++i) {
    float magnitude = std::abs(float(before.at(i)));
    if (after.at(i) == 0) largest_hidden = std::max(largest_hidden, magnitude);
    if (after.at(i) != 0) smallest_kept = std::min(smallest_kept, magnitude);
  }
  EXPECT_LE(largest_hidden, smallest_kept);
  ASSERT_EQ(report.weights.size(), 3U);
  EXPECT_EQ(report.weights[0].name, "hidden/kernel");
  EXPECT_NEAR(report.sparsity(), 0.75, 0.005);
  EXPECT_EQ(zeros_in(model.get_layer("hidden").get_weights()[1]), 32);  // biases begin as zeros
  EXPECT_TRUE(
      says(report.text(), {"hidden/kernel", "75.0 %", "No engine of Stoker computes faster"}));
}

TEST_P(Prune, KeepsWeightsZeroThroughMomentsDecayAndAverages) {
  for (const Optimizer& optimizer :
       {Optimizer(Adam({.learning_rate = 0.01,
       .weight_decay = 0.1,
       .use_ema = true,
       .ema_overwrite_frequency = 3})),
        Optimizer(SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true})),
        Optimizer(RMSprop({.clipnorm = 0.5})), Optimizer("muon"), Optimizer("ftrl")}) {
    set_seed(3);
    Model model = classifier();
    compile(model, optimizer);
    model.fit(data_.x, data_.y, {.epochs = 1, .verbose = 0});  // moments of all weights
    prune(model, {.sparsity = 0.5});
    Tensor before = kernel_of(model, "hidden");
    model.fit(data_.x, data_.y, {.epochs = 2, .verbose = 0});
    Tensor after = kernel_of(model, "hidden");
    bool moved = false;
    for (int64_t i = 0; i < before.elements(); ++i) {
      if (before.at(i) == 0) {
        ASSERT_EQ(after.at(i), 0) << optimizer.kind() << " element " << i;
      }
      moved |= before.at(i) != after.at(i);
    }
    EXPECT_TRUE(moved) << optimizer.kind();
  }
}

TEST_P(Prune, AModelWithoutMasksTrainsToTheSameBits) {
  auto trained = [&](bool others) {
    set_seed(11);
    Model model = classifier();
    if (others) prune(classifier("other"), {.sparsity = 0.5});
    set_seed(12);
    compile(model);
    model.fit(data_.x, data_.y, {.epochs = 2, .verbose = 0});
    return model.get_weights();
  };
  EXPECT_EQ(trained(false), trained(true));
}

TEST(PruneGlobal, SearchesAllKernelsTogether) {
  OnDevice device;
  Model model = classifier();
  std::vector<Tensor> weights = model.get_layer("hidden").get_weights();
  weights[0] = Tensor::full({8, 32}, 1e-6);
  model.get_layer("hidden").set_weights(weights);
  PruneReport report = prune(model, {.sparsity = 0.3, .scope = PruneScope::global});
  EXPECT_GT(report.weights[0].sparsity(), 0.9);
  EXPECT_LT(report.weights[0].sparsity(), 1);  // one weight stays
  EXPECT_EQ(report.weights[2].zeros, 0);
  EXPECT_NEAR(report.sparsity(), 0.3, 0.01);
}

TEST(PrunePattern, KeepsTwoOfFourAlongTheInputs) {
  OnDevice device;
  Model model = classifier();
  PruneReport report = prune(model, {.kind = PruneKind::n_of_m, .layers = {"hidden"}});
  Tensor kernel = kernel_of(model, "hidden");  // [8, 32]
  for (int64_t group = 0; group < 8; group += 4)
    for (int64_t column = 0; column < 32; ++column) {
      int kept = 0;
      for (int64_t row = group; row < group + 4; ++row) kept += kernel.at(row * 32 + column) != 0;
      EXPECT_EQ(kept, 2);
    }
  EXPECT_EQ(report.sparsity(), 0.5);
}

TEST(PruneErrors, NameTheValueAndWhatToDo) {
  OnDevice device;
  Model model = classifier();
  for (double sparsity : {-0.1, 1.0, std::nan("")})
    EXPECT_TRUE(says(error_of<ValueError>([&] { prune(model, {.sparsity = sparsity}); }),
                     {"sparsity is", "[0, 1)"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { prune(model, {.layers = {"hidde"}}); }),
                   {"no layer \"hidde\"", "hidden, middle, head"}));
  EXPECT_TRUE(
      says(error_of<ValueError>([&] {
             prune(model, {.kind = PruneKind::n_of_m, .pattern = {2, 5}, .layers = {"hidden"}});
           }),
           {"hidden/kernel", "8 inputs are no multiple of 5"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     prune(model, {.kind = PruneKind::n_of_m, .pattern = {4, 4}});
                   }),
                   {"pattern is 4 of 4"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     prune(model, {.exclude = {"hidden", "middle", "head"}});
                   }),
                   {"no weight of the model can be pruned"}));
  Model plain = Sequential({Input({4}), Flatten({.name = "flat"})});
  EXPECT_TRUE(says(error_of<ValueError>([&] { prune(plain, {.layers = {"flat"}}); }),
                   {"\"flat\" cannot be pruned: it has no kernel"}));
  std::vector<Tensor> weights = model.get_layer("middle").get_weights();
  Tensor bad = weights[0].clone();
  bad.data_mut<float>()[7] = std::nanf("");
  weights[0] = bad;
  model.get_layer("middle").set_weights(weights);
  EXPECT_TRUE(says(error_of<ValueError>([&] { prune(model); }), {"middle/kernel", "element 7"}));
  EXPECT_EQ(zeros_in(kernel_of(model, "hidden")), 0);  // nothing was pruned
}

TEST(PruneFiles, HoldTheMasks) {
  OnDevice device;
  TempDir folder;
  Data data = blobs(64, 8, 3, 5);
  Model model = classifier();
  compile(model);
  prune(model, {.sparsity = 0.8});
  model.save(folder / "m.stoker");
  model.save_weights(folder / "w.safetensors");
  Model loaded = load_model(folder / "m.stoker");
  EXPECT_NEAR(prune_report(loaded).sparsity(), 0.8, 0.005);
  loaded.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  EXPECT_NEAR(prune_report(loaded).sparsity(), 0.8, 0.005);
  Model other = classifier("other");
  other.load_weights(folder / "w.safetensors");
  compile(other);
  other.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  EXPECT_NEAR(prune_report(other).sparsity(), 0.8, 0.005);
}

TEST(PruneSharing, EveryModelOfTheWeightObeys) {
  OnDevice device;
  Data data = blobs(64, 8, 3, 5);
  Model model = classifier();
  Model same(model.inputs(), model.outputs());
  compile(same);
  same.fit(data.x, data.y, {.epochs = 1, .verbose = 0});  // its program knows of no mask
  prune(model, {.sparsity = 0.8});
  same.fit(data.x, data.y, {.epochs = 1, .verbose = 0});
  EXPECT_EQ(zeros_in(kernel_of(same, "hidden")), 205);
}

// --- the callback ---

TEST(PruningSchedule, IsTheCubicCurveOfTheOptions) {
  Pruning pruning({.sparsity = 0.8},
                  PolynomialSparsity{
                      .begin_step = 10, .end_step = 30, .initial_sparsity = 0.2, .frequency = 8});
  EXPECT_FALSE(pruning.sparsity_at(9));
  EXPECT_DOUBLE_EQ(*pruning.sparsity_at(10), 0.2);
  EXPECT_FALSE(pruning.sparsity_at(11));
  EXPECT_DOUBLE_EQ(*pruning.sparsity_at(18), 0.8 - 0.6 * std::pow(0.6, 3));
  EXPECT_DOUBLE_EQ(*pruning.sparsity_at(30), 0.8);  // the end, whatever the frequency
  EXPECT_FALSE(pruning.sparsity_at(31));
  Pruning constant({.sparsity = 0.5}, ConstantSparsity{.begin_step = 4});
  EXPECT_FALSE(constant.sparsity_at(3));
  EXPECT_DOUBLE_EQ(*constant.sparsity_at(4), 0.5);
  EXPECT_FALSE(constant.sparsity_at(5));
}

TEST(PruningSchedule, RefusesWhatCannotBe) {
  EXPECT_THROW(Pruning({.sparsity = 1.0}), ValueError);
  EXPECT_THROW(Pruning({}, PolynomialSparsity{.begin_step = 5, .end_step = 5}), ValueError);
  EXPECT_THROW(Pruning({}, PolynomialSparsity{.end_step = 5, .frequency = 0}), ValueError);
  EXPECT_THROW(Pruning({}, ConstantSparsity{.begin_step = -1}), ValueError);
  EXPECT_THROW(Pruning({.kind = PruneKind::n_of_m}, PolynomialSparsity{.end_step = 5}), ValueError);
  EXPECT_THROW(
      Pruning({.sparsity = 0.3}, PolynomialSparsity{.end_step = 5, .initial_sparsity = 0.4}),
      ValueError);
}

TEST_P(Prune, TheCallbackReachesTheFinalSparsity) {
  Model model = classifier();
  compile(model);
  Pruning pruning({.sparsity = 0.9}, PolynomialSparsity{.end_step = 8, .frequency = 2});
  History history =
      model.fit(data_.x, data_.y, {.epochs = 4, .verbose = 0, .callbacks = {pruning}});
  EXPECT_NEAR(prune_report(model).sparsity(), 0.9, 0.01);
  EXPECT_NEAR(history["sparsity"].back(), 0.9, 0.01);
  EXPECT_LT(history["sparsity"].front(), 0.9);
}

TEST(PruningEnd, SaysThatTheFinalSparsityWasNotReached) {
  OnDevice device;
  std::ostringstream out;
  default_context().out = &out;
  Data data = blobs(64, 8, 3, 5);
  Model model = classifier();
  compile(model);
  model.fit(data.x, data.y,
            {.epochs = 1,
             .verbose = 0,
             .callbacks = {Pruning({.sparsity = 0.9}, PolynomialSparsity{.end_step = 100})}});
  EXPECT_TRUE(says(out.str(), {"Pruning", "ended after 2 steps", "step 100"}));
  default_context().out = nullptr;
}

TEST(PruningEnd, RestoredWeightsGetTheLastMasks) {
  OnDevice device;
  Data data = blobs(64, 8, 3, 5);
  Model model = classifier();
  compile(model, SGD({.learning_rate = 0.0}));  // the first epoch is the best
  EarlyStopping stopping({.monitor = "loss", .patience = 2, .restore_best_weights = true});
  Pruning pruning({.sparsity = 0.9}, PolynomialSparsity{.end_step = 5, .frequency = 1});
  model.fit(data.x, data.y, {.epochs = 4, .verbose = 0, .callbacks = {stopping, pruning}});
  EXPECT_NEAR(prune_report(model).sparsity(), 0.9, 0.01);
}

TEST(PruningEnd, AWrongSelectionIsAnErrorBeforeTheFirstStep) {
  OnDevice device;
  Data data = blobs(64, 8, 3, 5);
  Model model = classifier();
  compile(model);
  std::vector<Tensor> before = model.get_weights();
  Pruning pruning({.layers = {"nothing"}}, ConstantSparsity{.begin_step = 1000});
  EXPECT_THROW(model.fit(data.x, data.y, {.verbose = 0, .callbacks = {pruning}}), ValueError);
  EXPECT_EQ(model.get_weights(), before);
}

TEST(PruningResume, GoesOnToTheSameBits) {
  OnDevice device;
  Data data = blobs(96, 8, 3, 5);
  auto fit = [&](const std::string& folder, int64_t stop) {
    set_seed(21);
    Model model = classifier();
    compile(model, Adam({.learning_rate = 0.01, .use_ema = true}));
    Pruning pruning({.sparsity = 0.9},
                    PolynomialSparsity{.begin_step = 2, .end_step = 11, .frequency = 3});
    BackupOptions often{.save_freq = 1};
    if (stop > 0) often.stop_after_steps = stop;
    model.fit(data.x, data.y,
              {.epochs = 5, .verbose = 0, .callbacks = {pruning, BackupAndRestore(folder, often)}});
    return model.get_weights();
  };
  TempDir whole_folder;
  std::vector<Tensor> whole = fit(whole_folder / "c", 0);
  for (int64_t stop : {1, 3, 5, 9, 12}) {
    TempDir folder;
    EXPECT_THROW(fit(folder / "c", stop), Interrupted);
    EXPECT_EQ(fit(folder / "c", 0), whole) << "stopped after " << stop;
  }
}

}  // namespace
}  // namespace stoker
