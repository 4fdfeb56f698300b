// write_file_atomically (base/file.h) in pieces: for files that are made while they are written.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/file.h"

namespace stoker {

// What is written stands under a temporary name until commit() puts it in the place of `path`. One
// that is destroyed before leaves `path` as it was, and nothing beside it. Into what is no regular
// file the bytes go as they come.
class AtomicFile final : public FileWriter {
 public:
  // FileError for an empty path and for one that cannot be written.
  explicit AtomicFile(const std::string& path, FileSystem& files = local_files());
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes) override { file_->write(bytes); }
  void sync() override { file_->sync(); }
  void commit(Durable durable = Durable::yes);

 private:
  FileSystem& files_;
  OutputPlace place_;
  std::string temporary_;  // empty: written through, or committed
  std::unique_ptr<FileWriter> file_;
};

}  // namespace stoker
