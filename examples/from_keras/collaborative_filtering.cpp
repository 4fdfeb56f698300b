// Keras's "Collaborative Filtering for Movie Recommendations": what a user would think of a film.
#include <cmath>
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

// Idea: 47 lines in Keras.
class RecommenderNet : public LayerBase {
 public:
  RecommenderNet(int64_t users, int64_t films, int64_t size)
      : users_(users, size, like("users")),
        user_bias_(users, 1, {.name = "user_bias"}),
        films_(films, size, like("films")),
        film_bias_(films, 1, {.name = "film_bias"}) {}
  std::string kind() const override { return "RecommenderNet"; }

  Values call(const Values& inputs, CallContext&) override {
    Value user = ops::take(inputs[0], 0, 1), film = ops::take(inputs[0], 1, 1);
    Value match = ops::sum(users_(user) * films_(film), {.axes = {1}, .keepdims = true});
    return {ops::sigmoid(match + user_bias_(user) + film_bias_(film))};
  }

 private:
  static EmbeddingOptions like(const std::string& name) {
    return {
        .embeddings_initializer = "he_normal", .embeddings_regularizer = L2(1e-6), .name = name};
  }
  Embedding users_, user_bias_, films_, film_bias_;
};

Sequential make_recommender(int64_t users, int64_t films) {
  Sequential model(
      {Input({2}, {.dtype = DType::int32}), make_layer<RecommenderNet>(users, films, 16)});
  model.compile({.optimizer = Adam({.learning_rate = 5e-3}),
                 .loss = BinaryCrossentropy(),
                 .metrics = {RootMeanSquaredError()}});
  return model;
}
// Shown:

}  // namespace

int main() {
  set_seed(1);
  constexpr int64_t kUsers = 60, kFilms = 80, kRatings = 3000;
  Tensor tastes = RandomNormal({.stddev = 1, .seed = 1})({kUsers, 3});
  Tensor kinds = RandomNormal({.stddev = 1, .seed = 2})({kFilms, 3});
  Tensor pairs(DType::int32, {kRatings, 2}), ratings(DType::float32, {kRatings});
  for (int64_t i = 0; i < kRatings; ++i) {
    Rng rng(1, uint64_t(i));
    int64_t user = rng.integer(0, kUsers), film = rng.integer(0, kFilms);
    double match = 0;
    for (int64_t k = 0; k < 3; ++k) match += tastes.at(user * 3 + k) * kinds.at(film * 3 + k);
    pairs.data_mut<int32_t>()[2 * i] = int32_t(user),
                                  pairs.data_mut<int32_t>()[2 * i + 1] = int32_t(film);
    ratings.data_mut<float>()[i] = float(1 / (1 + std::exp(-match)));
  }
  Sequential model = make_recommender(kUsers, kFilms);
  History history =
      model.fit(pairs, ratings, {.epochs = 10, .batch_size = 64, .validation_split = 0.1});

  Tensor unseen(DType::int32, {kFilms, 2});
  for (int64_t film = 0; film < kFilms; ++film)
    unseen.data_mut<int32_t>()[2 * film] = 7,
                                   unseen.data_mut<int32_t>()[2 * film + 1] = int32_t(film);
  Tensor scores = model.predict(unseen).reshape({kFilms});
  std::printf("user 7 would like film %d\n", int(scores.argmax().item()));
  return history["val_root_mean_squared_error"].back() < 0.15 ? 0 : 1;
}
