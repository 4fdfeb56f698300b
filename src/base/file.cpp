#include "base/file.h"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/folder_lock.h"
#include "base/mapped_file.h"

namespace stoker {

namespace {

template <class Container>
Container read_whole(const std::string& path, FileSystem& files) {
  auto file = files.open(path);
  Container content;
  content.resize(file->size());
  file->read_exactly(0, std::as_writable_bytes(std::span(content)));
  return content;
}

}  // namespace

std::unique_ptr<MappedFile> FileReader::map() { return nullptr; }

std::optional<FileStatus> FileSystem::status(const std::string& path) {
  if (!exists(path)) return std::nullopt;
  return FileStatus{.size = size(path)};
}

std::unique_ptr<FolderLock> FileSystem::lock(const std::string&, std::string&) {
  return std::make_unique<FolderLock>();
}

void FileReader::read_exactly(uint64_t offset, std::span<std::byte> out) {
  for (size_t done = 0; done < out.size();) {
    size_t count = read_at(offset + done, out.subspan(done));
    if (count == 0)
      throw FileError(fmt::format("{}: ends after {} bytes; {} bytes at {} were expected", path_,
                                  offset + done, out.size(), offset));
    done += count;
  }
}

size_t FileReader::read(std::span<std::byte> out) {
  size_t count = read_at(position_, out);
  position_ += count;
  return count;
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::vector<std::byte> read_file(const std::string& path, FileSystem& files) {
  return read_whole<std::vector<std::byte>>(path, files);
}

std::string read_text(const std::string& path, FileSystem& files) {
  return read_whole<std::string>(path, files);
}

void FileSystem::copy_attributes(const std::string&, const std::string&) {}

bool is_disk_full(std::string_view error) {
  return error.ends_with(std::generic_category().message(ENOSPC)) ||
         error.ends_with(std::generic_category().message(EDQUOT));
}

}  // namespace stoker
