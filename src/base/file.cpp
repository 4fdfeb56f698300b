#include "base/file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/folder_lock.h"
#include "base/mapped_file.h"

namespace stoker {

namespace {

// Unique among the threads of this process and the processes of this host.
std::string temporary_name(const std::string& path) {
  static std::atomic<uint64_t> count = 0;
  return fmt::format("{}.{}-{}{}", path, getpid(), count++, kTemporarySuffix);
}

std::string parent_of(const std::string& path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void remove_quietly(const std::string& path, FileSystem& files) {
  try {
    files.remove(path);
  } catch (const FileError&) {
    // The failure that led here is the one to report.
  }
}

// Appends: an open file that a path leads to (/dev/fd/3) goes on where it is.
void write_through(const std::string& path, std::span<const std::span<const std::byte>> pieces,
                   FileSystem& files) {
  auto file = files.create(path, FileSystem::Write::append);
  for (auto piece : pieces) file->write(piece);
}

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

void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces, FileSystem& files,
                           Durable durable) {
  if (path.empty()) throw FileError("the path of a file to write is empty");
  OutputPlace place = files.output_place(path);
  if (!place.replaceable) return write_through(path, pieces, files);
  std::string temporary = temporary_name(place.path);
  auto file = files.create(temporary, FileSystem::Write::replace);
  try {
    for (auto piece : pieces) file->write(piece);
    if (durable == Durable::yes) file->sync();
    file.reset();
    if (place.exists) files.copy_attributes(place.path, temporary);
    files.rename(temporary, place.path);
  } catch (...) {
    file.reset();
    remove_quietly(temporary, files);
    throw;
  }
  if (durable == Durable::yes) files.sync_directory(parent_of(place.path));
}

void write_file_atomically(const std::string& path, std::string_view text, FileSystem& files,
                           Durable durable) {
  std::span<const std::byte> piece = as_bytes(text);
  write_file_atomically(path, std::span(&piece, 1), files, durable);
}

bool is_disk_full(std::string_view error) {
  return error.ends_with(std::generic_category().message(ENOSPC)) ||
         error.ends_with(std::generic_category().message(EDQUOT));
}

}  // namespace stoker
