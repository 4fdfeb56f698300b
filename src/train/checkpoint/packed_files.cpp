#include "train/checkpoint/packed_files.h"

#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

class PackedReader final : public FileReader {
 public:
  PackedReader(const std::string& path, std::shared_ptr<const std::string> packed,
               std::string_view bytes)
      : FileReader(path), packed_(std::move(packed)), bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  size_t read_at(uint64_t offset, std::span<std::byte> out) override {
    if (offset >= bytes_.size()) return 0;
    size_t count = std::min<size_t>(out.size(), bytes_.size() - size_t(offset));
    std::memcpy(out.data(), bytes_.data() + offset, count);
    return count;
  }

 private:
  std::shared_ptr<const std::string> packed_;
  std::string_view bytes_;
};

}  // namespace

// "NAME\nSIZE\n", then as many bytes; one file after the other.
std::string pack_folder(const std::string& path, FileSystem& files) {
  std::string packed;
  for (const DirectoryEntry& entry : files.list(path)) {
    std::string bytes = read_text(path + "/" + entry.name, files);
    packed += fmt::format("{}\n{}\n", entry.name, bytes.size());
    packed += bytes;
  }
  return packed;
}

PackedFiles::PackedFiles(std::string packed)
    : packed_(std::make_shared<const std::string>(std::move(packed))) {
  std::string_view rest = *packed_;
  auto line = [&] {
    size_t end = rest.find('\n');
    if (end == std::string_view::npos) throw FileError("packed files: they end in a name or size");
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return text;
  };
  while (!rest.empty()) {
    std::string_view name = line(), digits = line();
    size_t size = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (error != std::errc() || end != digits.data() + digits.size() || size > rest.size())
      throw FileError(fmt::format("packed files: {} is not {} bytes long", name, digits));
    files_.emplace(name, rest.substr(0, size));
    rest.remove_prefix(size);
  }
}

PackedFiles::Files::const_iterator PackedFiles::find(std::string_view path) const {
  size_t slash = path.rfind('/');
  return files_.find(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::unique_ptr<FileReader> PackedFiles::open(const std::string& path) {
  auto found = find(path);
  if (found == files_.end()) throw FileError(path + ": there is no such packed file");
  return std::make_unique<PackedReader>(path, packed_, found->second);
}

std::vector<DirectoryEntry> PackedFiles::list(const std::string&) {
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, bytes] : files_) entries.push_back({.name = name});
  return entries;
}

void PackedFiles::refuse(const std::string& path) {
  throw FileError(path + ": packed files are for reading");
}
std::unique_ptr<FileWriter> PackedFiles::create(const std::string& path, Write) { refuse(path); }
void PackedFiles::create_directories(const std::string& path) { refuse(path); }
void PackedFiles::rename(const std::string& from, const std::string&) { refuse(from); }
void PackedFiles::remove(const std::string& path) { refuse(path); }
void PackedFiles::remove_all(const std::string& path) { refuse(path); }
void PackedFiles::sync_directory(const std::string& path) { refuse(path); }

}  // namespace stoker
