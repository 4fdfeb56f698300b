// The files of a checkpoint as one text, by which the other processes of a job get what the first one
// has read. Reading only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace stoker {

// All files of a folder, which has no others in it.
std::string pack_folder(const std::string& path, FileSystem& files);

// What pack_folder() gave, under the names that the files had: any folder, their own name.
class PackedFiles final : public FileSystem {
 public:
  explicit PackedFiles(std::string packed);  // FileError for what is none

  std::unique_ptr<FileReader> open(const std::string& path) override;
  bool exists(const std::string& path) override { return find(path) != files_.end(); }
  uint64_t size(const std::string& path) override { return open(path)->size(); }
  std::vector<DirectoryEntry> list(const std::string& directory) override;

  // FileError: nothing is written here.
  std::unique_ptr<FileWriter> create(const std::string& path, Write mode) override;
  void create_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void remove_all(const std::string& path) override;
  void sync_directory(const std::string& path) override;

 private:
  using Files = std::map<std::string, std::string_view, std::less<>>;
  Files::const_iterator find(std::string_view path) const;
  [[noreturn]] static void refuse(const std::string& path);

  std::shared_ptr<const std::string> packed_;
  Files files_;  // views of it
};

}  // namespace stoker
