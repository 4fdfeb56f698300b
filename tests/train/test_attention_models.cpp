// Models with attention: trained, saved and loaded with the arguments of their calls.
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::OnDevice;

class AttentionModels : public testing::Test {
 protected:
  OnDevice device_;
  test::TempDir dir_;
  std::string path_ = dir_ / "m.stoker";

  // A language model of one block, its head tied to its embedding.
  static Model tiny() {
    Value ids = Input({-1}, {.dtype = DType::int32});
    TokenAndPositionEmbedding embedding(7, 8, 8, {.name = "embedding"});
    Value x = embedding(ids);
    Value y = RMSNormalization()(x);
    x = x + MultiHeadAttention(2, 4)(y, y, {.use_causal_mask = true});
    x = x + SwiGLU(16)(RMSNormalization()(x));
    Model model(ids, embedding.reverse(x));
    model.compile({.optimizer = Adam({.learning_rate = 0.02}),
                   .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    return model;
  }
  // The next token is the sum of the last two, modulo 7.
  static Tensor tokens(int64_t shift) {
    Tensor rows = Tensor::zeros({16, 6}, DType::int32);
    for (int64_t row = 0; row < 16; ++row) {
      int64_t a = row % 7, b = row / 3 % 7;
      for (int64_t i = 0; i < 6 + shift; ++i) {
        if (i >= shift) rows.data_mut<int32_t>()[row * 6 + i - shift] = int32_t(a);
        int64_t next = (a + b) % 7;
        a = b;
        b = next;
      }
    }
    return rows;
  }
  static History fit(const Model& model, int64_t first, int64_t last) {
    return model.fit(tokens(0), tokens(1),
                     {.epochs = last, .batch_size = 8, .initial_epoch = first, .verbose = 0});
  }
};

TEST_F(AttentionModels, Learn) {
  set_seed(1);
  std::vector<double> losses = fit(tiny(), 0, 60)["loss"];
  EXPECT_LT(losses.back(), 0.5 * losses.front());
}

TEST_F(AttentionModels, GoOnAfterLoadingAsIfNothingHadHappened) {
  set_seed(3);
  Model whole = tiny();
  fit(whole, 0, 4);
  set_seed(3);
  Model half = tiny();
  fit(half, 0, 2);
  half.save(path_);
  Model loaded = load_model(path_);
  EXPECT_EQ(loaded.count_params(), half.count_params());
  EXPECT_EQ(loaded.predict(tokens(0)), half.predict(tokens(0)));
  fit(loaded, 2, 4);
  EXPECT_EQ(loaded.get_weights(), whole.get_weights());
}

// What comes later changes nothing: the causal mask is in the file.
TEST_F(AttentionModels, StayCausalInFiles) {
  set_seed(5);
  tiny().save(path_);
  Model loaded = load_model(path_);
  Tensor a = Tensor::from<int32_t>({1, 2, 3, 4}, {1, 4}),
         b = Tensor::from<int32_t>({1, 2, 5, 6}, {1, 4});
  Tensor first = loaded.predict(a), second = loaded.predict(b);
  for (int64_t i = 0; i < 2 * 7; ++i) EXPECT_EQ(first.at(i), second.at(i));
  EXPECT_NE(first.at(2 * 7), second.at(2 * 7));
}

TEST_F(AttentionModels, KeepWhatIsFrozen) {
  set_seed(7);
  Model model = tiny();
  model.get_layer("embedding").set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  std::vector<Tensor> before = model.get_layer("embedding").get_weights();
  fit(model, 0, 1);
  EXPECT_EQ(model.get_layer("embedding").get_weights(), before);
}

}  // namespace
}  // namespace stoker
