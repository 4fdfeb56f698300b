// bench_text: lines of text per second, read, vectorised and tokenised, beside Keras and the package
// tokenizers in the same run.
//   bench_text [--json FILE] [--only TEXT] [--long]
// The peers are asked for before and after Stoker's turn (peers.py, in the environment that
// scripts/peers-setup.sh makes); without them the rows stand alone.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <stoker/context.h>
#include <stoker/text.h>
#include <stoker/tokenizer.h>

#include "common/options.h"
#include "common/report.h"
#include "common/timing.h"

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

// What the peers reach, by row; empty where there are none.
std::map<std::string, double> ask_peers(const std::string& folder) {
  const char* venv = std::getenv("STOKER_PEERS_VENV");
  const char* home = std::getenv("HOME");
  std::string python =
      (venv != nullptr ? std::string(venv)
                       : std::string(home == nullptr ? "" : home) + "/.cache/stoker/peers") +
      "/bin/python";
  std::map<std::string, double> rates;
  if (!std::filesystem::exists(python)) return rates;
  std::string command =
      "'" + python + "' '" STOKER_BENCH_SOURCE_DIR "/text/peers.py' '" + folder + "' 2>/dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return rates;
  char name[64];
  double rate = 0;
  while (std::fscanf(pipe, "%63s %lf", name, &rate) == 2) rates[name] = rate;
  ::pclose(pipe);
  return rates;
}

class Rows {
 public:
  Rows(const Options& options, std::string folder)
      : options_(options), folder_(std::move(folder)), rounds_(options.longer ? 7 : 3) {
    peers_ = ask_peers(folder_);
  }
  template <class Step>
  void measure(const std::string& name, const std::string& peer, std::optional<double> bar,
               Step&& step) {
    if (name.find(options_.only) == std::string::npos) return;
    Samples samples;
    for (int round = 0; round < rounds_; ++round) step(samples);
    Row row{.name = name,
            .value = double(kLines) / samples.median(),
            .unit = "lines/s",
            .note = samples.text()};
    rows_.push_back({std::move(row), peer, bar});
  }
  // The better of the peers' two turns counts.
  void finish(Report& report) {
    for (const auto& [name, rate] : ask_peers(folder_)) peers_[name] = std::max(peers_[name], rate);
    for (auto& [row, peer, bar] : rows_) {
      auto found = peers_.find(peer);
      if (found != peers_.end()) {
        row.peers.push_back({peer, found->second, "lines/s"});
        report.add(row);
        report.add({.name = row.name + " / " + peer,
                    .value = row.value / found->second,
                    .unit = "x",
                    .bar = bar});
      } else {
        report.add(row);
      }
    }
  }

 private:
  struct Measured {
    Row row;
    std::string peer;
    std::optional<double> bar;
  };
  const Options& options_;
  std::string folder_;
  int rounds_;
  std::map<std::string, double> peers_;
  std::vector<Measured> rows_;
};

int run(const Options& options) {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("bench_text." + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::string path = (folder / "lines.txt").string();
  write_corpus(path);
  Rows rows(options, folder.string());

  data::Dataset lines = data::text_lines(path).batch(1024);
  rows.measure("text_lines", "keras_lines", {}, [&](Samples& samples) { walk(lines, samples); });
  text::TextVectorization vectorize({.max_tokens = kVocabulary, .output_sequence_length = 32});
  rows.measure("adapt", "keras_adapt", {}, [&](Samples& samples) {
    double begin = now();
    vectorize.adapt(lines);
    samples.add(now() - begin);
  });
  rows.measure("vectorize", "keras_vectorize", 5,
               [&](Samples& samples) { walk(lines.map(vectorize), samples); });
  if (std::filesystem::exists(folder / "tokenizer.json")) {
    text::Tokenizer tokenizer = text::Tokenizer::load((folder / "tokenizer.json").string());
    data::Dataset tokens = data::text_lines(path).map(tokenizer).padded_batch(1024);
    rows.measure("tokenize", "tokenizers", {}, [&](Samples& samples) { walk(tokens, samples); });
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
