// Which of two animals is the larger one? Every text compares two of them, in one of several ways, so
// that a word counts only together with others: what attention is for.
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

struct Riddles {
  Tensor texts, labels;  // bytes[n]; int32[n]: 1 where the first animal is the larger one
};

Riddles ask(int64_t count, uint64_t seed) {
  static const char* const kAnimals[] = {"ant", "mouse", "hen", "goat", "horse", "whale"};
  Rng rng(seed);
  std::vector<std::string> texts;
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < count; ++i) {
    int64_t first = rng.integer(0, 6), second = (first + rng.integer(1, 6)) % 6;
    std::string a = kAnimals[first], b = kAnimals[second];
    bool turned = rng.integer(0, 2) == 1;
    texts.push_back(turned ? "beside a " + b + " what is a " + a
                           : "is a " + a + " more than a " + b);
    labels.push_back(int32_t(first > second));
  }
  return {Tensor::from(texts, {count}), Tensor::from(labels, {count})};
}

}  // namespace

int main() {
  set_seed(1);
  Riddles train = ask(1500, 1), test = ask(300, 2);

  // Idea: 40 lines in Keras.
  text::TextVectorization vectorize({.max_tokens = 100, .output_sequence_length = 8});
  vectorize.adapt(train.texts);
  auto batches = [&](const Riddles& riddles) {
    return data::from_slices({riddles.texts, riddles.labels}).shuffle().map(vectorize).batch(32);
  };
  Value ids = Input({8}, {.dtype = DType::int64});
  Value x = TokenAndPositionEmbedding(vectorize.vocabulary_size(), 8, 32)(ids);
  for (int block = 0; block < 2; ++block) {
    Value y = MultiHeadAttention(2, 16)(x, x);
    x = LayerNormalization()(x + Dropout(0.1)(y));
    y = Dense(32)(Dense(64, {.activation = "relu"})(x));
    x = LayerNormalization()(x + Dropout(0.1)(y));
  }
  x = Dropout(0.1)(GlobalAveragePooling1D()(x));
  Model model(ids, Dense(2, {.activation = "softmax"})(x));
  model.compile({.optimizer = Adam({.learning_rate = 2e-3}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  model.fit(batches(train), {.epochs = 8, .validation_data = batches(test)});

  // Shown:
  double accuracy = model.evaluate(batches(test))["accuracy"];
  std::printf("accuracy on riddles that were not trained on: %.3f\n", accuracy);
  return accuracy > 0.95 ? 0 : 1;
}
