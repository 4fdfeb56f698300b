#include "support/memory_files.h"

#include <cstdlib>
#include <cstring>

#include <stoker/error.h>

#include "base/mapped_file.h"
#include "base/memory_file.h"

namespace stoker::test {

namespace {

// A copy that ends with the file, so that the sanitizers see every byte read beyond it.
class Mapping final : public MappedFile {
 public:
  static std::unique_ptr<MappedFile> of(const std::string& content) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 64, content.size()) != 0) return nullptr;
    std::memcpy(memory, content.data(), content.size());
    return std::make_unique<Mapping>(memory, content.size());
  }

  Mapping(void* memory, size_t size)
      : MappedFile({static_cast<const std::byte*>(memory), size}), memory_(memory) {}
  ~Mapping() override { std::free(memory_); }

 private:
  void* memory_;
};

class Reader final : public FileReader {
 public:
  Reader(const std::string& path, std::shared_ptr<const std::string> content)
      : FileReader(path), content_(std::move(content)), file_(path, as_bytes(*content_)) {}

  uint64_t size() const override { return file_.size(); }
  size_t read_at(uint64_t offset, std::span<std::byte> out) override {
    return file_.read_at(offset, out);
  }
  std::unique_ptr<MappedFile> map() override { return Mapping::of(*content_); }

 private:
  std::shared_ptr<const std::string> content_;
  MemoryFile file_;
};

[[noreturn]] void refuse(const std::string& path) {
  throw FileError(path + ": files in memory are only read");
}

}  // namespace

void MemoryFiles::put(const std::string& path, std::string_view content) {
  files_[path] = std::make_shared<const std::string>(content);
}

std::unique_ptr<FileReader> MemoryFiles::open(const std::string& path) {
  auto file = files_.find(path);
  if (file == files_.end()) throw FileError(path + ": opening failed: no such file in memory");
  return std::make_unique<Reader>(path, file->second);
}

std::unique_ptr<FileWriter> MemoryFiles::create(const std::string& path, Write) { refuse(path); }
std::vector<DirectoryEntry> MemoryFiles::list(const std::string& path) { refuse(path); }
void MemoryFiles::create_directories(const std::string& path) { refuse(path); }
void MemoryFiles::rename(const std::string& from, const std::string&) { refuse(from); }
void MemoryFiles::remove(const std::string& path) { refuse(path); }
void MemoryFiles::remove_all(const std::string& path) { refuse(path); }
void MemoryFiles::sync_directory(const std::string& path) { refuse(path); }

}  // namespace stoker::test
