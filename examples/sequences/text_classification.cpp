// Is a review of a guest house a good one? Texts of different lengths, words as vectors, and a
// bidirectional LSTM that reads them from both ends. The order of words decides: "not loud" is
// praise, "not clean" is none.
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

struct Reviews {
  Tensor texts, labels;  // bytes[n], float32[n, 1]
};

// Two or three remarks of one mind, some by way of "not", between words that say nothing.
Reviews write_reviews(int64_t count, uint64_t seed) {
  static const std::vector<std::string> kGood = {"clean", "quiet", "warm", "friendly", "bright"};
  static const std::vector<std::string> kBad = {"dirty", "loud", "cold", "rude", "dark"};
  static const std::vector<std::string> kThings = {"the room", "our host", "the kitchen",
                                                   "the whole house", "breakfast by the window"};
  Rng rng(seed);
  auto any = [&](const std::vector<std::string>& of) {
    return of[size_t(rng.integer(0, int64_t(of.size())))];
  };
  std::vector<std::string> texts;
  std::vector<float> labels;
  for (int64_t review = 0; review < count; ++review) {
    bool good = rng.integer(0, 2) == 1;
    std::string text = "We stayed for a night.";
    for (int64_t remark = rng.integer(2, 4); remark > 0; --remark) {
      bool turned = rng.integer(0, 2) == 1;
      text += " And " + any(kThings) + (turned ? " was not " : " was ") +
              any(good != turned ? kGood : kBad) + "!";
    }
    texts.push_back(text);
    labels.push_back(good ? 1.0F : 0.0F);
  }
  return {Tensor::from(texts, {count}), Tensor::from(labels, {count, 1})};
}

}  // namespace

int main() {
  set_seed(1);
  Reviews train = write_reviews(2000, 1), test = write_reviews(500, 2);

  // Idea: 15 lines in Keras.
  text::TextVectorization vectorize({.max_tokens = 1000});
  vectorize.adapt(train.texts);
  auto batches = [&](const Reviews& reviews) {
    return data::from_slices({reviews.texts, reviews.labels})
        .shuffle()
        .map(vectorize)
        .padded_batch(32);
  };
  Sequential model({
      Input({-1}, {.dtype = DType::int64}),
      Embedding(vectorize.vocabulary_size(), 16, {.mask_zero = true}),
      Bidirectional(LSTM(16)),
      Dense(1, {.activation = "sigmoid"}),
  });
  model.compile({.optimizer = Adam({.learning_rate = 1e-2}),
                 .loss = "binary_crossentropy",
                 .metrics = {"accuracy"}});
  model.fit(batches(train), {.epochs = 6, .validation_data = batches(test)});

  // Shown:
  double accuracy = model.evaluate(batches(test))["accuracy"];
  for (const char* text : {"The kitchen was not loud!", "The kitchen was not clean!"}) {
    Tensor ids = vectorize(std::vector<std::string>{text});
    std::printf("%-28s %.2f good\n", text, model.predict_on_batch(ids).item());
  }
  std::printf("accuracy on reviews that were not trained on: %.3f\n", accuracy);
  return accuracy > 0.95 ? 0 : 1;
}
