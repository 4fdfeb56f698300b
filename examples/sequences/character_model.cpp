// A model that writes, letter by letter. The story is cut into streams that are read side by side, a
// piece at a time; a stateful LSTM remembers from one piece to the next what came before.
#include <cstdio>
#include <string>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kStreams = 8, kLength = 32;

std::string tell_story() {
  static const char* const kVerses[] = {
      "the tide goes out and the boats lie down. ", "the tide comes in and the boats stand up. ",
      "a gull counts the boats from the harbour wall. ", "at night the lamp turns and turns. "};
  Rng rng(5);
  std::string story;
  for (int verse = 0; verse < 400; ++verse) story += kVerses[rng.integer(0, 4)];
  return story;
}

// The likeliest letters behind a beginning; all streams write the same.
std::string go_on(const Sequential& model, const text::TextVectorization& letters, std::string text,
                  int count) {
  std::vector<std::string> names = letters.get_vocabulary();
  reset_states(model);
  for (size_t at = 0; count > 0; ++at) {
    int64_t id = int64_t(letters(text.substr(at, 1)).item());
    Tensor next = model.predict_on_batch(Tensor::full({kStreams, 1}, double(id), DType::int64))[0];
    if (at + 1 < text.size()) continue;
    int64_t best = 0;
    for (int64_t each = 1; each < next.elements(); ++each)
      if (next.at(each) > next.at(best)) best = each;
    text += names[size_t(best)], --count;
  }
  return text;
}

}  // namespace

int main() {
  set_seed(1);
  std::string story = tell_story();

  // Idea: 20 lines in Keras.
  text::TextVectorization letters(
      {.standardize = text::Standardize::none, .split = text::Split::character});
  letters.adapt(std::vector<std::string>{story});
  Tensor ids = letters(story);
  int64_t pieces = (ids.elements() - 1) / (kStreams * kLength), used = kStreams * pieces * kLength;
  auto cut = [&](int64_t begin) {
    return ids.slice(begin, begin + used).reshape({kStreams * pieces, kLength});
  };
  // Batch i holds piece i of every stream.
  auto batches = data::from_slices({cut(0), cut(1)})
                     .window(kStreams, {.shift = 1, .stride = pieces, .drop_remainder = true});
  Sequential model({
      Input({-1}, {.batch_size = kStreams, .dtype = DType::int64}),
      Embedding(letters.vocabulary_size(), 16),
      LSTM(64, {.return_sequences = true, .stateful = true}),
      Dense(letters.vocabulary_size(), {.activation = "softmax"}),
  });
  model.compile({.optimizer = Adam({.learning_rate = 1e-2}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  LambdaCallback from_the_start({.on_epoch_begin = [&](int64_t) { reset_states(model); }});
  auto history = model.fit(batches, {.epochs = 6, .callbacks = {from_the_start}});

  // Shown:
  double accuracy = history["accuracy"].back();
  std::printf("%s\n", go_on(model, letters, "the tide ", 80).c_str());
  std::printf("letters foreseen in the last epoch: %.2f\n", accuracy);
  return accuracy > 0.85 ? 0 : 1;
}
