#include "base/atomic_file.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>

#include <fmt/format.h>
#include <stoker/error.h>

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

OutputPlace place_of(const std::string& path, FileSystem& files) {
  if (path.empty()) throw FileError("the path of a file to write is empty");
  return files.output_place(path);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path, FileSystem& files)
    : files_(files), place_(place_of(path, files)) {
  if (place_.replaceable) {
    temporary_ = temporary_name(place_.path);
    try {
      file_ = files.create(temporary_, FileSystem::Write::replace);
    } catch (const FileError&) {
      std::string folder = parent_of(place_.path);
      if (files.exists(folder)) throw;
      throw FileError(
          fmt::format("{}: the folder {} does not exist; create it first", path, folder));
    }
  } else {
    // Appends: an open file that a path leads to (/dev/fd/3) goes on where it is.
    file_ = files.create(path, FileSystem::Write::append);
  }
}

AtomicFile::~AtomicFile() {
  file_.reset();
  if (temporary_.empty()) return;
  try {
    files_.remove(temporary_);
  } catch (const FileError&) {
    // The failure that led here is the one to report.
  }
}

void AtomicFile::commit(Durable durable) {
  if (temporary_.empty()) return;
  if (durable == Durable::yes) file_->sync();
  file_.reset();
  if (place_.exists) files_.copy_attributes(place_.path, temporary_);
  files_.rename(temporary_, place_.path);
  temporary_.clear();
  if (durable == Durable::yes) files_.sync_directory(parent_of(place_.path));
}

void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces, FileSystem& files,
                           Durable durable) {
  AtomicFile file(path, files);
  for (auto piece : pieces) file.write(piece);
  file.commit(durable);
}

void write_file_atomically(const std::string& path, std::string_view text, FileSystem& files,
                           Durable durable) {
  std::span<const std::byte> piece = as_bytes(text);
  write_file_atomically(path, std::span(&piece, 1), files, durable);
}

}  // namespace stoker
