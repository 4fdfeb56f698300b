// Compiled code kept on disk between processes: one file per key in a folder. Files are written
// whole and renamed, so that several processes may share the folder; one that is damaged is as good
// as none. The folder stays below a size: the oldest files go. Thread-safe. What cannot be read or
// written is not kept: the caller compiles again.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace stoker::fuser {

class CodeCache {
 public:
  struct Options {
    std::string folder;  // empty: nothing is kept
    uintmax_t most_bytes = uintmax_t(256) << 20;
  };
  explicit CodeCache(Options options) : options_(std::move(options)) {}

  std::optional<std::string> find(const std::string& key) const;
  void add(const std::string& key, const std::string& code);

  // STOKER_CODE_CACHE (empty: none), else "stoker/kernels" in the user's cache.
  static std::string default_folder();

 private:
  std::string path_of(const std::string& key) const;
  void make_room();

  Options options_;
  std::mutex mutex_;
  uintmax_t written_ = 0;  // since the folder was last looked through
  bool looked_ = false;
};

}  // namespace stoker::fuser
