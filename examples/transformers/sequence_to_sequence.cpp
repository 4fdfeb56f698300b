// Numbers in words become digits: "seven hundred and six" is 706. One network reads the words, another
// writes digit after digit and looks, by attention, at the words it needs.
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

std::string in_words(int64_t number) {
  static const char* const kSmall[] = {"zero",    "one",     "two",       "three",    "four",
                                       "five",    "six",     "seven",     "eight",    "nine",
                                       "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                       "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  static const char* const kTens[] = {"",      "",      "twenty",  "thirty", "forty",
                                      "fifty", "sixty", "seventy", "eighty", "ninety"};
  if (number >= 100)
    return in_words(number / 100) + " hundred" +
           (number % 100 > 0 ? " and " + in_words(number % 100) : "");
  if (number < 20) return kSmall[number];
  return std::string(kTens[number / 10]) + (number % 10 > 0 ? " " + in_words(number % 10) : "");
}

// Digits are 1 to 10; 11 begins a number and 12 ends it.
constexpr int64_t kBegin = 11, kEnd = 12, kSymbols = 13, kDigits = 4;
std::vector<int64_t> in_digits(int64_t number) {
  std::vector<int64_t> digits;
  for (char digit : std::to_string(number)) digits.push_back(digit - '0' + 1);
  digits.push_back(kEnd);
  return digits;
}

}  // namespace

int main() {
  set_seed(1);
  std::vector<std::string> words;
  std::vector<int64_t> before, after;  // of each place: the symbol in front of it, and its own
  for (int64_t number = 0; number < 1000; ++number) {
    std::vector<int64_t> digits = in_digits(number);
    digits.resize(kDigits, 0);
    words.push_back(in_words(number));
    before.push_back(kBegin);
    before.insert(before.end(), digits.begin(), digits.end() - 1);
    after.insert(after.end(), digits.begin(), digits.end());
  }

  // Idea: 30 lines in Keras.
  text::TextVectorization vectorize({.output_sequence_length = 6});
  vectorize.adapt(words);
  Tensor source = vectorize(words);
  Tensor given = Tensor::from(before, {1000, kDigits}),
         wanted = Tensor::from(after, {1000, kDigits});
  std::vector<int64_t> train, test;
  for (int64_t i = 0; i < 1000; ++i) (i % 7 == 3 ? test : train).push_back(i);

  Value text = Input({6}, {.dtype = DType::int64}), symbols = Input({-1}, {.dtype = DType::int64});
  Value memory = Bidirectional(GRU(32, {.return_sequences = true}))(
      Embedding(vectorize.vocabulary_size(), 32, {.mask_zero = true})(text));
  Value x = GRU(64, {.return_sequences = true})(Embedding(kSymbols, 16)(symbols));
  x = Concatenate()({x, Attention()(x, memory)});
  Model model({text, symbols}, {Dense(kSymbols)(Dense(64, {.activation = "relu"})(x))});
  model.compile({.optimizer = Adam({.learning_rate = 1e-2}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  model.fit({source.gather(train), given.gather(train)}, wanted.gather(train),
            {.epochs = 25, .verbose = 2});
  auto read = [&](int64_t number) {
    return generate(model, TokenIds{kBegin},
                    {.max_new_tokens = kDigits,
                     .temperature = 0,
                     .stop = {kEnd},
                     .inputs = source.slice(number, number + 1)});
  };

  // Shown:
  size_t right = 0;
  for (int64_t number : test) {
    std::vector<int64_t> expected = in_digits(number), got = read(number);
    right += std::equal(expected.begin(), expected.end(), got.begin() + 1, got.end());
  }
  std::printf("%zu of %zu numbers that were not trained on were read right\n", right, test.size());
  return right * 10 > test.size() * 8 ? 0 : 1;
}
