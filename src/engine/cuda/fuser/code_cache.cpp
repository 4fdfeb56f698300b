#include "engine/cuda/fuser/code_cache.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/file.h"

namespace stoker::fuser {

namespace fs = std::filesystem;

namespace {

// Fowler–Noll–Vo, 64 bits: tells damage, and gives a key its file.
std::string hash_text(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (char c : text) hash = (hash ^ uint8_t(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

// What stands before the code: the sum of all that follows, and the key itself.
std::string with_header(const std::string& key, const std::string& code) {
  std::string rest = fmt::format("{}\n{}\n{}", key.size(), key, code);
  return "stoker-code-1 " + hash_text(rest) + "\n" + rest;
}

}  // namespace

std::string CodeCache::path_of(const std::string& key) const {
  return fmt::format("{}/{}.cubin", options_.folder, hash_text(key));
}

std::optional<std::string> CodeCache::find(const std::string& key) const {
  std::error_code none;
  if (options_.folder.empty() || !fs::is_regular_file(path_of(key), none)) return std::nullopt;
  try {
    std::string text = read_text(path_of(key));
    std::string header = with_header(key, "");
    size_t first_line = text.find('\n');
    if (text.size() < header.size() || first_line == std::string::npos) return std::nullopt;
    std::string code = text.substr(header.size());
    if (with_header(key, code) != text) return std::nullopt;
    return code;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void CodeCache::add(const std::string& key, const std::string& code) {
  if (options_.folder.empty()) return;
  std::lock_guard lock(mutex_);
  try {
    std::error_code ignored;
    fs::create_directories(options_.folder, ignored);
    write_file_atomically(path_of(key), with_header(key, code), local_files(), Durable::no);
    written_ += code.size();
    if (!looked_ || written_ > options_.most_bytes / 8) make_room();
  } catch (const Error&) {  // a full or read-only disk: the next process compiles again
  }
}

void CodeCache::make_room() {
  struct File {
    fs::file_time_type time;
    uintmax_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uintmax_t total = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(options_.folder, error)) {
    if (entry.path().extension() != ".cubin") continue;
    files.push_back({entry.last_write_time(error), entry.file_size(error), entry.path()});
    total += files.back().bytes;
  }
  std::ranges::sort(files, {}, &File::time);
  for (const File& file : files) {
    if (total <= options_.most_bytes) break;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
  written_ = 0;
  looked_ = true;
}

std::string CodeCache::default_folder() {
  // NOLINTBEGIN(concurrency-mt-unsafe)
  if (const char* own = std::getenv("STOKER_CODE_CACHE")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"))
    return std::string(cache) + "/stoker/kernels";
  if (const char* home = std::getenv("HOME")) return std::string(home) + "/.cache/stoker/kernels";
  // NOLINTEND(concurrency-mt-unsafe)
  return "";
}

}  // namespace stoker::fuser
