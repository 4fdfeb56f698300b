// Losses, weights and metrics by the names of outputs.
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;
using Names = std::vector<std::string>;

struct TwoOutputs {
  Value in = Input({2});
  Model model{
      {in},
      {Dense(1, {.name = "age"})(in), Dense(3, {.activation = "softmax", .name = "kind"})(in)}};
  Tensor x = test::line(16, 1).x, ages = test::line(16, 1).y;
  Tensor kinds = test::blobs(16, 2, 3, 1).y;
};

TEST(CompileByName, GivesWhatTheListGives) {
  test::OnDevice device;
  TwoOutputs two;
  Logs by_list, by_name;
  two.model.compile(
      {.loss = {"mse", "sparse_categorical_crossentropy"}, .loss_weights = {0.5, 2.0}});
  by_list = two.model.evaluate(two.x, {two.ages, two.kinds});
  two.model.compile(
      {.loss = {{"kind", "sparse_categorical_crossentropy"}, {"age", "mse"}},
       .loss_weights = {{"kind", 2.0}, {"age", 0.5}},
       .metrics = {{"age", "mae"}, {"kind", {"accuracy", "sparse_top_k_categorical_accuracy"}}}});
  by_name = two.model.evaluate(two.x, {two.ages, two.kinds});
  for (const char* name : {"loss", "age_loss", "kind_loss"})
    EXPECT_EQ(by_name[name], by_list[name]) << name;
  EXPECT_EQ(by_name.names(), (Names{"loss", "age_loss", "kind_loss", "age_mae", "kind_accuracy",
                                    "kind_sparse_top_k_categorical_accuracy"}));
}

TEST(CompileByName, LeavesOutputsWithoutANameWithoutALoss) {
  test::OnDevice device;
  TwoOutputs two;
  two.model.compile({.loss = {{"age", Huber(2.0)}}, .metrics = {{"age", Metric("mae")}}});
  History history = two.model.fit(two.x, two.ages, {.verbose = 0});
  EXPECT_EQ(history.names(), (Names{"loss", "mae"}));
  std::map<std::string, double> weights = {{"age", 2.0}};
  two.model.compile({.loss = "mse", .loss_weights = weights});  // the other weighs 1
  Logs logs = two.model.evaluate(two.x, {two.ages, Tensor::zeros({16, 3})});
  EXPECT_NEAR(logs["loss"], 2 * logs["age_loss"] + logs["kind_loss"], 1e-5);
}

TEST(CompileByName, IsKeptByFiles) {
  test::OnDevice device;
  test::TempDir dir;
  TwoOutputs two;
  two.model.compile({.loss = {{"kind", "sparse_categorical_crossentropy"}},
                     .loss_weights = {{"kind", 3.0}},
                     .weighted_metrics = {{"kind", "accuracy"}}});
  two.model.save(dir / "m.stoker");
  Model loaded = load_model(dir / "m.stoker");
  EXPECT_EQ(loaded.evaluate(two.x, two.kinds)["loss"],
            two.model.evaluate(two.x, two.kinds)["loss"]);
}

TEST(CompileByName, ListsTheNamesThereAre) {
  test::OnDevice device;
  TwoOutputs two;
  auto fails = [&](const CompileArgs& args, std::initializer_list<const char*> parts) {
    EXPECT_TRUE(says(error_of<ValueError>([&] { two.model.compile(args); }), parts));
  };
  fails({.loss = {{"agee", "mse"}}}, {"a loss for output \"agee\"", "age, kind"});
  fails({.loss = {{"age", "mse"}, {"age", "mae"}}}, {"has one already"});
  fails({.loss = {{"age", "mse"}, "mae"}}, {"name all"});
  fails({.loss = "mse", .loss_weights = {{"size", 1.0}}}, {"a loss weight for output \"size\""});
  fails({.loss = "mse", .metrics = {{"size", "mae"}}}, {"\"size\""});
}

}  // namespace
}  // namespace stoker
