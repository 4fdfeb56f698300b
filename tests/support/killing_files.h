// The local files, in a process that ends by SIGKILL at its n-th operation on them, as if the power
// had gone: a write that is hit has written half.
#pragma once

#include <csignal>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"

namespace stoker::test {

class KillingFiles : public FileSystem {
 public:
  // before: operations that still succeed; negative: never.
  explicit KillingFiles(int before) : left_(before) {}

  std::unique_ptr<FileReader> open(const std::string& path) override {
    operation();
    return local_files().open(path);
  }
  std::unique_ptr<FileWriter> create(const std::string& path, Write mode) override {
    operation();
    return std::make_unique<Writer>(*this, local_files().create(path, mode));
  }
  bool exists(const std::string& path) override { return local_files().exists(path); }
  uint64_t size(const std::string& path) override { return local_files().size(path); }
  std::vector<DirectoryEntry> list(const std::string& directory) override {
    operation();
    return local_files().list(directory);
  }
  void create_directories(const std::string& path) override {
    operation();
    local_files().create_directories(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    operation();
    local_files().rename(from, to);
  }
  void remove(const std::string& path) override {
    operation();
    local_files().remove(path);
  }
  // Entry by entry, so that it can be hit in between.
  void remove_all(const std::string& path) override {
    for (const DirectoryEntry& entry : local_files().list(path)) {
      operation();
      local_files().remove_all(path + "/" + entry.name);
    }
    operation();
    local_files().remove_all(path);
  }
  void sync_directory(const std::string& path) override {
    operation();
    local_files().sync_directory(path);
  }

 private:
  class Writer : public FileWriter {
   public:
    Writer(KillingFiles& files, std::unique_ptr<FileWriter> file)
        : files_(files), file_(std::move(file)) {}
    void write(std::span<const std::byte> bytes) override {
      if (files_.left_ == 0) file_->write(bytes.first(bytes.size() / 2));
      files_.operation();
      file_->write(bytes);
    }
    void sync() override {
      files_.operation();
      file_->sync();
    }

   private:
    KillingFiles& files_;
    std::unique_ptr<FileWriter> file_;
  };

  void operation() {
    if (left_-- == 0) raise(SIGKILL);
  }

  std::atomic<int> left_;
};

}  // namespace stoker::test
