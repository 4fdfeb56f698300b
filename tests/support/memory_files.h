// Files in memory, to read: for tests that change every bit of a file, and for fuzzing. Mapped
// where they are asked to be. Directories exist by the files in them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace stoker::test {

class MemoryFiles : public FileSystem {
 public:
  void put(const std::string& path, std::string_view content);

  std::unique_ptr<FileReader> open(const std::string& path) override;
  bool exists(const std::string& path) override { return files_.contains(path); }
  uint64_t size(const std::string& path) override { return open(path)->size(); }

  // Not for these.
  std::unique_ptr<FileWriter> create(const std::string& path, Write mode) override;
  std::vector<DirectoryEntry> list(const std::string& directory) override;
  void create_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void remove_all(const std::string& path) override;
  void sync_directory(const std::string& path) override;

 private:
  std::map<std::string, std::shared_ptr<const std::string>> files_;
};

}  // namespace stoker::test
