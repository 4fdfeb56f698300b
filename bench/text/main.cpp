// bench_text: lines of text per second, read, vectorised and tokenised, beside Keras and the package
// tokenizers in the same run.
//   bench_text [--json FILE] [--only TEXT] [--long]
// The peers are asked for before and after Stoker's turn (peers.py, in the environment that
// scripts/peers-setup.sh makes); without them the rows stand alone.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <stoker/context.h>
#include <stoker/text.h>
#include <stoker/tokenizer.h>

#include "common/peer_rows.h"

namespace stoker::bench {
namespace {

constexpr int64_t kLines = 200'000;
constexpr int64_t kVocabulary = 20'000;

// Words by Zipf's law, some with capitals and punctuation.
void write_corpus(const std::string& path) {
  Rng rng(1);
  std::ofstream file(path);
  for (int64_t line = 0; line < kLines; ++line) {
    int64_t words = rng.integer(5, 26);
    for (int64_t word = 0; word < words; ++word) {
      auto rank = uint64_t(std::exp(rng.uniform() * std::log(60'000.0F)));
      std::string text;
      for (uint64_t rest = rank * 2654435761U % 4294967291U; rest > 20; rest /= 21)
        text += "bcdfghjklmnprstvwaeio"[rest % 21];
      if (word == 0 && !text.empty()) text[0] = char(text[0] - 'a' + 'A');
      file << text << (rng.integer(0, 8) == 0 ? ", " : " ");
    }
    file << "end.\n";
  }
}

void walk(const data::Dataset& dataset, Samples& samples) {
  double begin = now();
  int64_t lines = 0;
  for (const Batch& batch : dataset) lines += batch[0].shape()[0];
  samples.add(now() - begin);
  if (lines != kLines) throw Error("the walk missed lines");
}

int run(const Options& options) {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("bench_text." + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::string path = (folder / "lines.txt").string();
  write_corpus(path);
  PeerRows rows(options, folder.string(), "text/peers.py", "lines/s");

  data::Dataset lines = data::text_lines(path).batch(1024);
  rows.measure("text_lines", {"keras_lines"}, {}, kLines,
               [&](Samples& samples) { walk(lines, samples); });
  text::TextVectorization vectorize({.max_tokens = kVocabulary, .output_sequence_length = 32});
  rows.measure("adapt", {"keras_adapt"}, {}, kLines, [&](Samples& samples) {
    double begin = now();
    vectorize.adapt(lines);
    samples.add(now() - begin);
  });
  rows.measure("vectorize", {"keras_vectorize"}, 5, kLines,
               [&](Samples& samples) { walk(lines.map(vectorize), samples); });
  if (std::filesystem::exists(folder / "tokenizer.json")) {
    text::Tokenizer tokenizer = text::Tokenizer::load((folder / "tokenizer.json").string());
    data::Dataset tokens = data::text_lines(path).map(tokenizer).padded_batch(1024);
    rows.measure("tokenize", {"tokenizers"}, {}, kLines,
                 [&](Samples& samples) { walk(tokens, samples); });
  }
  Report report;
  rows.finish(report);
  report.print(std::cout);
  if (!options.json.empty()) report.write_json(options.json);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_text", argc, argv, stoker::bench::run);
}
