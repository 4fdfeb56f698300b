// A GPT that reads a text letter by letter, and goes on with it.
//   example_character_gpt [FILE [LETTERS]]
// Without a file it reads a story that is made up here. A longer text wants a larger model: more
// blocks, a wider one, and a GPU.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

std::string tell_story() {
  static const char* const kWho[] = {"the miller", "a heron", "the ferryman", "my aunt"};
  static const char* const kDid[] = {"waits by the river", "counts the boats", "sings to the moon"};
  static const char* const kWhy[] = {"because it rains", "until the bell rings",
                                     "and says nothing"};
  Rng rng(5);
  std::string story;
  for (int line = 0; line < 600; ++line)
    story += std::string(kWho[rng.integer(0, 4)]) + " " + kDid[rng.integer(0, 3)] + " " +
             kWhy[rng.integer(0, 3)] + ".\n";
  return story;
}

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().size() < 1000) {
    std::fprintf(stderr, "%s: expected a text of 1000 letters or more\n", path);
    std::exit(2);
  }
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  set_seed(1);
  std::string text = argc > 1 ? read(argv[1]) : tell_story();
  int64_t letters = argc > 2 ? std::atoll(argv[2]) : 120;

  // Idea: 45 lines in Keras.
  constexpr int64_t kLength = 96, kWidth = 64, kHeads = 4, kLetters = 256;
  std::vector<int64_t> ids;
  for (unsigned char letter : text) ids.push_back(letter);
  Tensor all = Tensor::from(ids, {int64_t(ids.size())});
  auto pieces = data::from_slices({all}).batch(kLength + 1, {.drop_remainder = true});
  auto batches = pieces
                     .map(
                         [](const Tensor& piece) {
                           return std::pair(piece.slice(0, kLength), piece.slice(1, kLength + 1));
                         },
                         {.spec = {{{DType::int64, {kLength}}, {DType::int64, {kLength}}}}})
                     .shuffle()
                     .batch(16);
  Value input = Input({kLength}, {.dtype = DType::int64});
  TokenAndPositionEmbedding embed(kLetters, kLength, kWidth);
  Value x = embed(input);
  for (int block = 0; block < 2; ++block) {
    Value y = LayerNormalization()(x);
    x = x + MultiHeadAttention(kHeads, kWidth / kHeads)(y, y, {.use_causal_mask = true});
    y = LayerNormalization()(x);
    x = x + Dense(kWidth)(Dense(4 * kWidth, {.activation = "gelu"})(y));
  }
  Model model(input, embed.reverse(LayerNormalization()(x)));
  model.compile({.optimizer = Adam({.learning_rate = 3e-3}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  auto history = model.fit(batches, {.epochs = 10});
  std::vector<int64_t> prompt(ids.begin(), ids.begin() + 12);
  auto made = generate(
      model, prompt,
      {.max_new_tokens = letters,
       .temperature = 0.7,
       .top_k = 20,
       .seed = 1,
       .on_token = [](const GeneratedToken& token) { return std::putchar(int(token.id)) != EOF; }});

  // Shown:
  double accuracy = history["accuracy"].back();
  std::printf("\nletters foreseen in the last epoch: %.2f, letters written: %zu\n", accuracy,
              made.size() - prompt.size());
  return argc > 1 || accuracy > 0.75 ? 0 : 1;
}
