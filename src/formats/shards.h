// Stoker's own packed shards: a dataset as a directory of a few large files, indexed, checksummed
// and memory-mapped. Any element is read on its own, without looking for it. docs/formats/shards.md
//
// Files are not trusted: whatever they hold, reading ends in elements or in a FileError with path,
// record and offset, and no memory is taken at their word.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/tensor_view.h>

#include "base/file.h"
#include "formats/shard_layout.h"

namespace stoker {

struct ShardOptions {
  uint64_t shard_bytes = uint64_t(256) << 20;  // a shard that has reached this is closed
  std::string fingerprint = {};                // what the data depends on; given back by the reader
  std::vector<std::string> names = {};         // of the components, or none
};

// Writes a dataset in any order of its elements. Holds one megabyte, 32 bytes for every record of
// the open shard and a bit for every element. One thread at a time, and one writer for a directory:
// it is locked until the writer has finished or is gone.
//
// Only finish() makes a dataset of it: it writes manifest.json atomically, after all else is
// synced. Before that, and after any failure, a dataset that was there is there unchanged. What an
// earlier writer left unfinished is removed by the next one.
class ShardWriter {
 public:
  // The directory is made where there is none; one that holds other things is a FileError, one
  // that another writer is filling a FolderInUse. In
  // `spec` a dimension of -1 may differ from element to element. ValueError for specs and names
  // that cannot be.
  ShardWriter(std::string path, std::vector<TensorSpec> spec, const ShardOptions& options = {},
              FileSystem& files = local_files());
  ~ShardWriter();  // without finish(): removes what it wrote

  // Every index from 0 to the last once, in any order. ShapeError when the views do not fit the
  // spec, ValueError for an index that is taken; then nothing was written and the writer goes on.
  void write(int64_t index, std::span<const ConstTensorView> element);
  // ValueError, and nothing published, when elements are missing.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The components of one element as they lie in the file. Views stay until it is read into again,
// and no longer than the reader. Reusing one takes no memory once it has grown.
class ShardRecord {
 public:
  ShardRecord() = default;
  ShardRecord(ShardRecord&&) noexcept = default;
  ShardRecord& operator=(ShardRecord&&) noexcept = default;

  size_t size() const { return components_.size(); }
  const TensorSpec& spec(size_t component) const { return components_[component].spec; }
  // Numbers, at least 8 bytes aligned, 64 from 64 bytes on. Error when the component is bytes.
  ConstTensorView view(size_t component) const;
  // The strings of a component of bytes, in row-major order; Error when it is numbers.
  std::span<const std::string_view> strings(size_t component) const;

 private:
  friend class ShardReader;
  std::vector<ShardComponent> components_;
  std::vector<std::string_view> strings_;
  Tensor buffer_;  // where the file is not mapped
};

struct ShardReadOptions {
  bool check = true;  // checksums: of indices when opened, of a record when it is first read
  bool map = true;    // else, and where it cannot be: every record is read into memory, and checked
};

// Reads from any thread. The files must not be changed while it lives (see MappedFile); another
// dataset may be written to the same directory.
class ShardReader {
 public:
  explicit ShardReader(std::string path, const ShardReadOptions& options = {},
                       FileSystem& files = local_files());
  ~ShardReader();
  ShardReader(ShardReader&&) noexcept;

  int64_t size() const;
  const std::vector<TensorSpec>& spec() const;
  const std::vector<std::string>& names() const;
  const std::string& fingerprint() const;

  // In constant time. ValueError when there is no such element.
  void read(int64_t index, ShardRecord& record) const;
  ShardRecord read(int64_t index) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// FileError for a path that holds anything but shards; nothing there is fine.
void check_shard_folder(const std::string& path, FileSystem& files = local_files());

// May stand beside the shards: what a cache was made from. Its owner writes and reads it.
inline constexpr std::string_view kSourcesName = "sources";

// Whether a finished dataset is there (by its manifest, which is not looked into).
bool shards_exist(const std::string& path, FileSystem& files = local_files());

}  // namespace stoker
