// Weights with several uses, in files: one state when they are saved, one state when they are
// loaded.
#include <algorithm>

#include "formats/safetensors.h"
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::OnDevice;
using test::says;

class TiedWeights : public testing::Test {
 protected:
  OnDevice device_;
  test::TempDir dir_;
  std::string path_ = dir_ / "m.stoker";
  Tensor ids_ = Tensor::from<int32_t>({1, 2, 3, 0, 4, 2, 2, 1}, {8, 1});

  // The embedding is the output's matrix too.
  static Model tied() {
    Value ids = Input({1}, {.dtype = DType::int32});
    Embedding embedding(5, 4, {.name = "embedding"});
    Value h = Dense(4, {.activation = "tanh"})(Flatten()(embedding(ids)));
    Value table = embedding.weights()[0];
    Model model(ids, ops::softmax(ops::matmul(h, table, {.transpose_b = true})));
    model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
    return model;
  }
  void fit(const Model& model, int64_t first, int64_t last) {
    model.fit(ids_, Tensor::from<int32_t>({2, 3, 4, 1, 0, 3, 3, 2}, {8}),
              {.epochs = last, .batch_size = 4, .initial_epoch = first, .verbose = 0});
  }
  size_t tensors(const std::string& prefix) {
    auto all = read_safetensors(path_).tensors;
    return size_t(std::ranges::count_if(
        all, [&](const auto& entry) { return entry.first.starts_with(prefix); }));
  }
};

TEST_F(TiedWeights, OfAnEmbeddingAndItsHeadGoOnTrainingAsOne) {
  set_seed(3);
  Model whole = tied();
  fit(whole, 0, 4);
  set_seed(3);
  Model half = tied();
  fit(half, 0, 2);
  half.save(path_);
  EXPECT_EQ(tensors("weights/"), 3U);
  EXPECT_EQ(tensors("optimizer/embedding/"), 2U);
  Model loaded = load_model(path_);
  EXPECT_EQ(loaded.count_params(), half.count_params());
  EXPECT_EQ(loaded.predict(ids_), half.predict(ids_));
  fit(loaded, 2, 4);
  EXPECT_EQ(loaded.get_weights(), whole.get_weights());
  loaded.save(dir_ / "again.stoker");
  whole.save(path_);
  EXPECT_EQ(read_file(path_), read_file(dir_ / "again.stoker"));
}

TEST_F(TiedWeights, MayBeUsedBeforeTheirLayerIsCalledInTheModel) {
  Dense layer(3, {.use_bias = false, .name = "owner"});
  Value a = Input({3}, {.name = "a"}), b = Input({3}, {.name = "b"});
  layer(Value(Input({3})));  // builds it
  Value borrowed = ops::matmul(a, layer.weights()[0]);
  Model model({a, b}, {borrowed, layer(b)});
  model.save(path_);
  Model loaded = load_model(path_);
  Tensor x = test::normal({2, 3}, 1), y = test::normal({2, 3}, 2);
  EXPECT_EQ(loaded.predict_all({x, y}), model.predict_all({x, y}));
  EXPECT_EQ(loaded.count_params(), 9);

  Model circular(a, layer(ops::matmul(a, layer.weights()[0])));
  EXPECT_TRUE(says(error_of<ValueError>([&] { circular.save(path_); }), {"owner", "call"}));
}

TEST_F(TiedWeights, OfANestedModelsLayerCanBeUsedOutsideOfIt) {
  Sequential inner({Input({3}), Dense(3, {.name = "dense"})}, {.name = "inner"});
  Value x = Input({3});
  Value kernel = inner.get_layer("dense").weights()[0];
  Model model(x, ops::matmul(inner(x), kernel));
  model.save(path_);
  Tensor data = test::normal({2, 3}, 1);
  Model loaded = load_model(path_);
  EXPECT_EQ(loaded.predict(data), model.predict(data));
  loaded.get_layer("inner").set_weights({Tensor::zeros({3, 3}), Tensor::zeros({3})});
  EXPECT_EQ(loaded.predict(data), Tensor::zeros({2, 3}));
}

TEST_F(TiedWeights, ThatNoLayerOwnsAreRefused) {
  Value x = Input({3});
  Model model(x, x * Value(Variable("alone", Tensor::full({3}, 2.0))));
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.save(path_); }),
                   {"\"alone\"", "make it a weight of a layer"}));
}

TEST_F(TiedWeights, OfALayerThatStandsInTwoNestedModelsAreOneLayerAgain) {
  Dense shared(3, {.name = "shared"});
  Sequential a({Input({3}), shared}, {.name = "a"}),
      b({Input({3}), shared, Dense(3)}, {.name = "b"});
  Value x = Input({3});
  Model model(x, Add()({a(x), b(x), shared(x)}));
  model.save(path_);
  EXPECT_EQ(tensors("weights/"), 4U);
  Model loaded = load_model(path_);
  EXPECT_EQ(loaded.count_params(), model.count_params());
  Tensor data = test::normal({2, 3}, 1);
  EXPECT_EQ(loaded.predict(data), model.predict(data));
  EXPECT_EQ(loaded.summary(), model.summary());
  loaded.save(dir_ / "again.stoker");
  EXPECT_EQ(read_file(path_), read_file(dir_ / "again.stoker"));
}

TEST_F(TiedWeights, OfAModelThatStandsInTwoOthersAreOneModelAgain) {
  Sequential core({Input({3}), Dense(3)}, {.name = "core"});
  Sequential a({Input({3}), core}, {.name = "a"}), b({Input({3}), core, ReLU()}, {.name = "b"});
  Value x = Input({3});
  Model model(x, Add()({core(x), a(x), b(x), core(x)}));
  model.save(path_);
  Model loaded = load_model(path_);
  EXPECT_EQ(loaded.count_params(), 12);
  Tensor data = test::normal({2, 3}, 1);
  EXPECT_EQ(loaded.predict(data), model.predict(data));
}

// A head of the user's own that borrows the embedding's table.
class TiedHead : public LayerBase {
 public:
  explicit TiedHead(Variable table) : table_(std::move(table)) {}
  std::string kind() const override { return "TiedHead"; }
  Values call(const Values& inputs, CallContext&) override {
    return {ops::matmul(inputs[0], table_, {.transpose_b = true})};
  }
  std::vector<Variable> weights() const override { return {table_}; }

 private:
  Variable table_;
};

TEST_F(TiedWeights, BetweenOwnLayersAreTiedAgainByTheirMakersOrRefused) {
  auto build = [&](const Embedding& embedding) {
    Value ids = Input({1}, {.dtype = DType::int32});
    Value h = Flatten()(embedding(ids));
    return Model(ids, make_layer<TiedHead>(embedding.weights()[0])(h));
  };
  Model model = build(Embedding(5, 4, {.name = "table"}));
  model.save(path_);
  EXPECT_EQ(tensors("weights/"), 1U);

  Embedding fresh(5, 4);
  fresh(Value(Input({1}, {.dtype = DType::int32})));
  CustomObjects objects{.layers = {{"table", [&](const Attrs&) { return fresh; }},
                                   {"TiedHead", [&](const Attrs&) {
                                      return make_layer<TiedHead>(fresh.weights()[0]);
                                    }}}};
  Model loaded = load_model(path_, {objects});
  EXPECT_EQ(loaded.predict(ids_), model.predict(ids_));
  EXPECT_EQ(loaded.count_params(), 20);

  objects.layers.erase("table");
  EXPECT_TRUE(says(error_of<FileError>([&] { load_model(path_, {objects}); }),
                   {"weights/tied_head", "is missing", "share it again"}));
}

TEST_F(TiedWeights, ThatALambdaCapturesAreTiedAgainByTheirMakersOrRefused) {
  auto head = [](const Layer& embedding) {
    return Lambda([table = embedding.weights()[0]](const Value& x) {
      return ops::matmul(x, table, {.transpose_b = true});
    });
  };
  Embedding embedding(5, 4, {.name = "table"});
  Value ids = Input({1}, {.dtype = DType::int32});
  Value h = Flatten()(embedding(ids));
  Model model(ids, head(embedding)(h));
  model.save(path_);

  CustomObjects objects{.layers = {{"lambda", [&](const Attrs&) { return head(embedding); }}}};
  EXPECT_TRUE(says(error_of<FileError>([&] { load_model(path_, {objects}); }),
                   {"table/embeddings", "being loaded"}));  // another model's
  Embedding fresh(5, 4);
  fresh(Value(Input({1}, {.dtype = DType::int32})));
  objects.layers = {{"table", [&](const Attrs&) { return fresh; }},
                    {"lambda", [&](const Attrs&) { return head(fresh); }}};
  Model loaded = load_model(path_, {objects});
  EXPECT_EQ(loaded.predict(ids_), model.predict(ids_));
  fresh.set_weights({Tensor::zeros({5, 4})});
  EXPECT_EQ(loaded.predict(ids_), Tensor::zeros({8, 5}));
}

TEST_F(TiedWeights, ThatALambdaCapturesFromNoLayerAreRefusedWhenSaving) {
  Variable alone("alone", Tensor::full({3}, 2.0));
  Sequential model({Input({3}), Lambda([alone](const Value& x) { return x * alone; })});
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.save(path_); }), {"\"alone\"", "add_weight()"}));
}

}  // namespace
}  // namespace stoker
