// The local files, made to fail on demand: the n-th operation fails with a given errno, once or
// from then on (a full disk, a broken one, a killed process), or every read delivers only a few
// bytes. Operations are everything a FileSystem, a FileReader or a FileWriter is asked for, except
// size(), output_place() and copy_attributes().
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"

namespace stoker::test {

class FaultyFiles : public FileSystem {
 public:
  // Fails the operation after `before` others (0: the next one). A write that fails has written
  // half.
  void fail_once(int before, int error);
  // All operations from that one on.
  void fail_from(int before, int error);
  // Everything that writes below a folder fails, until heal().
  void fail_below(std::string folder, int error);
  // A folder with so much room: a write beyond it fails as on a full disk, after half of it.
  void limit_room(std::string folder, uint64_t bytes);
  void heal();  // nothing fails any more
  void limit_reads(size_t bytes) { read_limit_ = bytes; }
  void refuse_maps() { maps_ = false; }           // as map() that fails: files have to be read
  int operations() const { return operations_; }  // since the last fail_once or fail_from

  std::unique_ptr<FileReader> open(const std::string& path) override;
  std::unique_ptr<FileWriter> create(const std::string& path, Write mode) override;
  bool exists(const std::string& path) override;
  uint64_t size(const std::string& path) override;
  std::vector<DirectoryEntry> list(const std::string& directory) override;
  void create_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void remove_all(const std::string& path) override;
  void sync_directory(const std::string& path) override;
  OutputPlace output_place(const std::string& path) override {
    return local_files().output_place(path);
  }
  void copy_attributes(const std::string& from, const std::string& to) override {
    local_files().copy_attributes(from, to);
  }

 private:
  class Reader;
  class Writer;

  bool fails();                          // counts an operation
  void change(const std::string& path);  // an operation that writes
  bool has_room(const std::string& path, size_t bytes) const;
  void operation(const std::string& path);
  [[noreturn]] void fail(const std::string& path) const;

  std::atomic<int> operations_ = 0;
  std::atomic<int> first_failure_ = std::numeric_limits<int>::max();
  std::atomic<int> last_failure_ = 0;
  std::atomic<int> error_ = 0;
  std::string broken_, small_;  // folders; empty: none
  std::atomic<bool> is_broken_ = false;
  uint64_t room_ = 0;
  bool maps_ = true;
  size_t read_limit_ = std::numeric_limits<size_t>::max();
};

}  // namespace stoker::test
