#include "support/faulty_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <stoker/error.h>

#include "base/mapped_file.h"

namespace stoker::test {

class FaultyFiles::Reader final : public FileReader {
 public:
  Reader(std::unique_ptr<FileReader> file, FaultyFiles& files)
      : FileReader(file->path()), file_(std::move(file)), files_(files) {}

  uint64_t size() const override { return file_->size(); }
  size_t read_at(uint64_t offset, std::span<std::byte> out) override {
    files_.operation(path());
    return file_->read_at(offset, out.first(std::min(out.size(), files_.read_limit_)));
  }
  std::unique_ptr<MappedFile> map() override {
    return files_.fails() || !files_.maps_ ? nullptr : file_->map();
  }

 private:
  std::unique_ptr<FileReader> file_;
  FaultyFiles& files_;
};

class FaultyFiles::Writer final : public FileWriter {
 public:
  Writer(std::string path, std::unique_ptr<FileWriter> file, FaultyFiles& files)
      : path_(std::move(path)), file_(std::move(file)), files_(files) {}

  void write(std::span<const std::byte> bytes) override {
    files_.change(path_);
    bool full = !files_.has_room(path_, bytes.size());
    if (full) files_.error_ = ENOSPC;
    bool fails = files_.fails() || full;
    file_->write(fails ? bytes.first(bytes.size() / 2) : bytes);
    if (fails) files_.fail(path_);
  }
  void sync() override {
    files_.change(path_);
    files_.operation(path_);
    file_->sync();
  }

 private:
  std::string path_;
  std::unique_ptr<FileWriter> file_;
  FaultyFiles& files_;
};

void FaultyFiles::fail_once(int before, int error) {
  operations_ = 0;
  first_failure_ = before;
  last_failure_ = before;
  error_ = error;
}

void FaultyFiles::fail_from(int before, int error) {
  fail_once(before, error);
  last_failure_ = std::numeric_limits<int>::max();
}

void FaultyFiles::fail_below(std::string folder, int error) {
  if (broken_ != folder) broken_ = std::move(folder);  // other threads may be looking
  error_ = error;
  is_broken_ = true;
}

void FaultyFiles::limit_room(std::string folder, uint64_t bytes) {
  small_ = std::move(folder);
  room_ = bytes;
}

void FaultyFiles::heal() {
  is_broken_ = false;
  if (!small_.empty()) small_.clear();
  first_failure_ = std::numeric_limits<int>::max();
}

void FaultyFiles::change(const std::string& path) {
  if (is_broken_ && path.starts_with(broken_)) fail(path);
}

bool FaultyFiles::has_room(const std::string& path, size_t bytes) const {
  if (small_.empty() || !path.starts_with(small_)) return true;
  uint64_t used = bytes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(small_))
    if (entry.is_regular_file()) used += entry.file_size();
  return used <= room_;
}

bool FaultyFiles::fails() {
  int number = operations_++;
  return number >= first_failure_ && number <= last_failure_;
}

void FaultyFiles::operation(const std::string& path) {
  if (fails()) fail(path);
}

void FaultyFiles::fail(const std::string& path) const {
  throw FileError(path + ": failed as asked: " + std::generic_category().message(error_));
}

std::unique_ptr<FileReader> FaultyFiles::open(const std::string& path) {
  operation(path);
  return std::make_unique<Reader>(local_files().open(path), *this);
}

std::unique_ptr<FileWriter> FaultyFiles::create(const std::string& path, Write mode) {
  change(path);
  operation(path);
  return std::make_unique<Writer>(path, local_files().create(path, mode), *this);
}

bool FaultyFiles::exists(const std::string& path) {
  operation(path);
  return local_files().exists(path);
}

uint64_t FaultyFiles::size(const std::string& path) {
  operation(path);
  return local_files().size(path);
}

std::vector<DirectoryEntry> FaultyFiles::list(const std::string& directory) {
  operation(directory);
  return local_files().list(directory);
}

void FaultyFiles::create_directories(const std::string& path) {
  change(path);
  operation(path);
  local_files().create_directories(path);
}

void FaultyFiles::rename(const std::string& from, const std::string& to) {
  change(to);
  operation(to);
  local_files().rename(from, to);
}

void FaultyFiles::remove(const std::string& path) {
  operation(path);
  local_files().remove(path);
}

void FaultyFiles::remove_all(const std::string& path) {
  operation(path);
  local_files().remove_all(path);
}

void FaultyFiles::sync_directory(const std::string& path) {
  operation(path);
  local_files().sync_directory(path);
}

}  // namespace stoker::test
