// Runs a fuzz target without a fuzzer: on all files of the given folders, and on mutations of them
// that are the same every time.      fuzz_NAME FOLDER...
// An input that fails is written to a file in the working folder.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <stoker/random.h>

#include "fuzz/fuzz.h"

namespace {

using stoker::Rng;

constexpr int kMutations = 4'000;
constexpr size_t kMaxBytes = 1 << 14;

std::string current_input, crash_path;

// Only calls that a signal handler may make.
void save_input() {
  int file = ::open(crash_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  [[maybe_unused]] auto written = ::write(file, current_input.data(), current_input.size());
  for (const char* text : {"\nfailed; the input is in ", crash_path.c_str(), "\n"})
    written = ::write(STDERR_FILENO, text, std::strlen(text));
  ::_exit(1);
}

void run(const std::string& input) {
  current_input = input;
  // A copy of exactly this length, so that the sanitizers see every byte read beyond its end.
  std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::vector<std::string> read_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

size_t place_in(const std::string& bytes, Rng& rng) {
  return size_t(rng.integer(0, int64_t(bytes.size()) + 1));
}

void overwrite(std::string& bytes, Rng& rng, uint64_t value, size_t width) {
  if (bytes.size() < width) return;
  std::memcpy(bytes.data() + rng.integer(0, int64_t(bytes.size() - width) + 1), &value, width);
}

void mutate(std::string& bytes, const std::string& other, Rng& rng) {
  static constexpr uint64_t kInteresting[] = {0,
                                              1,
                                              0x7f,
                                              0x80,
                                              0xff,
                                              0x7fff,
                                              0xffff,
                                              0x7fffffff,
                                              0xffffffff,
                                              uint64_t(1) << 32,
                                              uint64_t(INT64_MAX),
                                              uint64_t(1) << 63,
                                              UINT64_MAX,
                                              UINT64_MAX - 15};
  static constexpr size_t kWidths[] = {1, 2, 4, 8};
  switch (rng.integer(0, 7)) {
    case 0:
      if (!bytes.empty())
        bytes[size_t(rng.integer(0, int64_t(bytes.size())))] ^= char(1 << rng.integer(0, 8));
      break;
    case 1:
      overwrite(bytes, rng, uint64_t(rng.integer(0, 256)), 1);
      break;
    case 2:
      overwrite(bytes, rng, kInteresting[rng.integer(0, std::size(kInteresting))],
                kWidths[rng.integer(0, 4)]);
      break;
    case 3:
      bytes.erase(place_in(bytes, rng), size_t(rng.integer(0, 17)));
      break;
    case 4:
      bytes.insert(place_in(bytes, rng), size_t(rng.integer(0, 17)), char(rng.integer(0, 256)));
      break;
    case 5: {  // a piece of another input
      size_t from = place_in(other, rng);
      bytes.insert(place_in(bytes, rng), other, from, size_t(rng.integer(0, 65)));
      break;
    }
    default:
      bytes.resize(place_in(bytes, rng));
  }
  if (bytes.size() > kMaxBytes) bytes.resize(kMaxBytes);
}

void run_mutations(const std::vector<std::string>& inputs) {
  Rng rng(1);
  auto any = [&]() -> const std::string& {
    return inputs[size_t(rng.integer(0, int64_t(inputs.size())))];
  };
  for (int round = 0; round < kMutations; ++round) {
    std::string bytes = any();
    for (int64_t count = rng.integer(1, 5); count > 0; --count) mutate(bytes, any(), rng);
    run(bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = std::filesystem::path(argv[0]).filename().string();
  crash_path = (std::filesystem::current_path() / (name + ".crash")).string();
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    std::signal(number, [](int) { save_input(); });
  std::vector<std::string> inputs;
  for (int argument = 1; argument < argc; ++argument)
    std::ranges::move(read_folder(argv[argument]), std::back_inserter(inputs));
  if (inputs.empty()) {
    std::fprintf(stderr, "%s: no inputs in the given folders\n", name.c_str());
    return 1;
  }
  for (const std::string& input : inputs) run(input);
  run("");
  run_mutations(inputs);
  std::printf("%s: %zu inputs and %d mutations\n", name.c_str(), inputs.size(), kMutations);
  return 0;
}
