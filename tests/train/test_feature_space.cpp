#include <stoker/feature_space.h>

#include "base/file.h"
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;
using utils::FeatureSpace;

Tensor texts(const std::vector<std::string>& values) {
  return Tensor::from(values, {int64_t(values.size())});
}

FeatureSpace::Columns table() {
  return {{"age", Tensor::from<float>({10, 20, 30, 40}, {4, 1})},
          {"city", texts({"rome", "oslo", "rome", "bern"})},
          {"rooms", Tensor::from<int32_t>({3, 1, 3, 2}, {4})}};
}

std::map<std::string, FeatureSpace::Feature> kinds() {
  return {{"age", "float_normalized"},
          {"city", "string_categorical"},
          {"rooms", "integer_categorical"}};
}

TEST(FeatureSpace, IsOneVectorPerRow) {
  FeatureSpace space(kinds());
  EXPECT_FALSE(space.adapted());
  EXPECT_THROW(space(table()), ValueError);
  space.adapt(table());
  // age, then [UNK] rome oslo bern, then the unknown number, 3, 2, 1: the more frequent first, of equally
  // frequent ones the greater, as Keras 3.15 has it.
  EXPECT_EQ(space.output_size(), 1 + 4 + 4);
  Tensor x = space(table()).at("concat");
  EXPECT_EQ(x.shape(), (Shape{4, 9}));
  const std::vector<float> second = {-0.4472136F, 0, 0, 1, 0, 0, 0, 0, 1};
  for (int64_t i = 0; i < 9; ++i) EXPECT_NEAR(x.at(9 + i), second[size_t(i)], 1e-6) << i;
  Tensor unknown = space({{"age", Tensor::from<float>({25}, {1})},
                          {"city", texts({"paris"})},
                          {"rooms", Tensor::from<int64_t>({9}, {1})}})
                       .at("concat");
  EXPECT_EQ(unknown, Tensor::from<float>({0, 1, 0, 0, 0, 1, 0, 0, 0}, {1, 9}));
}

TEST(FeatureSpace, OfADictGivesEveryFeatureApart) {
  FeatureSpace space(
      {{"age", FeatureSpace::float_discretized(0, {15, 35})},
       {"city", FeatureSpace::string_categorical({.output_mode = "int"})},
       {"rooms", FeatureSpace::integer_hashed(5, "int")}},
      {.output_mode = "dict", .crosses = {FeatureSpace::cross({"city", "rooms"}, 8)}});
  space.adapt(table());
  FeatureSpace::Columns made = space(table());
  EXPECT_EQ(made.at("age"), Tensor::from<float>({1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1}, {4, 3}));
  EXPECT_EQ(made.at("city"), Tensor::from<int64_t>({1, 2, 1, 3}, {4, 1}));
  EXPECT_EQ(made.at("rooms").dtype(), DType::int64);
  EXPECT_EQ(made.at("city_X_rooms").shape(), (Shape{4, 8}));
  EXPECT_THROW(space.output_size(), ValueError);
}

TEST(FeatureSpace, IsAStepOfADataset) {
  FeatureSpace space(kinds());
  auto columns = table();
  Tensor labels = Tensor::from<float>({0, 1, 0, 1}, {4});
  auto rows =
      data::from_slices({columns["age"].reshape({4}), columns["city"], columns["rooms"], labels});
  space.adapt(rows, {"age", "city", "rooms"});
  Tensor whole = space(columns).at("concat");
  auto train = rows.map(space.on({"age", "city", "rooms"})).batch(4);
  for (const Batch& batch : train) {
    EXPECT_EQ(batch[0], whole);
    EXPECT_EQ(batch[1], labels);
  }
  OnDevice device;
  Sequential model({Input({space.output_size()}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_NO_THROW(model.fit(train, {.epochs = 1, .verbose = 0}));
}

TEST(FeatureSpace, IsTheSameAfterLoading) {
  TempDir dir;
  auto features = kinds();
  features.emplace("size", FeatureSpace::float_rescaled(0.5, 1));
  FeatureSpace space(features, {.crosses = {{{"city", "rooms"}}}, .crossing_dim = 6});
  auto columns = table();
  columns["size"] = Tensor::from<float>({1, 2, 3, 4}, {4});
  space.adapt(columns);
  space.save(dir / "space.json");
  EXPECT_EQ(FeatureSpace::load(dir / "space.json")(columns).at("concat"),
            space(columns).at("concat"));
  std::string text = read_text(dir / "space.json");
  for (const char* damage :
       {"{}", "nothing", "[1]", "{\"format\": \"stoker-feature-space\", \"version\": 9}"}) {
    dir.write("bad.json", damage);
    EXPECT_THROW(FeatureSpace::load(dir / "bad.json"), FileError) << damage;
  }
  for (size_t cut = 1; cut < text.size(); cut += 37) {
    dir.write("bad.json", text.substr(0, cut));
    EXPECT_THROW(FeatureSpace::load(dir / "bad.json"), FileError) << cut;
  }
}

TEST(FeatureSpace, SaysWhatIsWrong) {
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     FeatureSpace({{"a", "floaty"}});
                   }),
                   {"floaty", "float_normalized"}));
  EXPECT_THROW(FeatureSpace({}), ValueError);
  EXPECT_THROW(FeatureSpace({{"a", "float"}, {"a", "float"}}), ValueError);
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     FeatureSpace(kinds(), {.crosses = {{{"city", "street"}}}});
                   }),
                   {"street"}));
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     FeatureSpace(kinds(), {.crosses = {{{"city", "age"}}}});
                   }),
                   {"age", "categories"}));
  FeatureSpace space(kinds());
  auto columns = table();
  columns.erase("city");
  EXPECT_TRUE(says(error_of<ValueError>([&] { space.adapt(columns); }), {"city", "age, rooms"}));
  columns["city"] = Tensor::zeros({4});
  EXPECT_TRUE(says(error_of<ValueError>([&] { space.adapt(columns); }), {"city", "texts"}));
}

}  // namespace
}  // namespace stoker
