// Keras's "End-to-end masked language modeling with BERT": words from the words around them.
#include <cstdio>
#include <tuple>
#include <utility>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kLength = 16, kWords = 32, kWidth = 32, kMask = 1;

// Sentences in which every second word repeats the one before it.
Tensor draw_sentences(int64_t count) {
  Rng rng(1);
  Tensor ids(DType::int32, {count, kLength});
  auto* words = ids.data_mut<int32_t>();
  for (int64_t i = 0; i < ids.elements(); ++i)
    words[i] = i % 2 == 1 ? words[i - 1] : int32_t(rng.integer(2, kWords));
  return ids;
}

}  // namespace

int main() {
  set_seed(1);
  Tensor sentences = draw_sentences(512);

  // Idea: 22 lines in Keras.
  // 15 % of the words are hidden, and only they count.
  auto mask = [](Tensor sentence, Rng& rng) {
    Tensor hidden = sentence.clone(), weights = Tensor::zeros({kLength});
    for (int64_t i = 0; i < kLength; ++i) {
      if (rng.uniform() > 0.15F) continue;
      hidden.data_mut<int32_t>()[i] = kMask;
      weights.data_mut<float>()[i] = 1;
    }
    return std::tuple(hidden, sentence, weights);
  };
  data::ElementSpec spec = {
      {DType::int32, {kLength}}, {DType::int32, {kLength}}, {DType::float32, {kLength}}};
  auto train = data::from_slices(sentences).shuffle().map(mask, {.spec = spec}).batch(32);

  Value ids = Input({kLength}, {.dtype = DType::int32});
  Value x = TokenAndPositionEmbedding(kWords, kLength, kWidth)(ids);
  for (int layer = 0; layer < 2; ++layer) {
    Value attended = MultiHeadAttention(4, kWidth / 4)(x, x);
    x = LayerNormalization({.epsilon = 1e-6})(x + Dropout(0.1)(attended));
    Value forward = Dense(kWidth)(Dense(2 * kWidth, {.activation = "relu"})(x));
    x = LayerNormalization({.epsilon = 1e-6})(x + Dropout(0.1)(forward));
  }
  Model model(ids, Dense(kWords, {.activation = "softmax"})(x), {.name = "masked_bert"});
  model.compile({.optimizer = Adam({.learning_rate = 3e-3}),
                 .loss = SparseCategoricalCrossentropy(),
                 .weighted_metrics = {SparseCategoricalAccuracy()}});
  History history = model.fit(train, {.epochs = 20});
  Tensor question = sentences.slice(0, 1).clone();
  int32_t truth = std::exchange(question.data_mut<int32_t>()[5], int32_t(kMask));
  Tensor answer = model.predict(question).argmax();

  // Shown:
  std::printf("hidden: %d, found: %d\n", truth, int(answer.at(5)));
  return history["loss"].back() < 0.5 * history["loss"].front() ? 0 : 1;
}
