#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/folder_lock.h"
#include "formats/shard_file.h"
#include "formats/shards.h"

namespace stoker {

namespace {

// Which indices were written. Memory: a bit each, in pages, so that one huge index costs one page.
class IndexSet {
 public:
  // False when it is in already.
  bool insert(uint64_t index) {
    uint64_t& word = pages_[index / kPageBits][index % kPageBits / 64];
    uint64_t bit = uint64_t(1) << index % 64;
    if (word & bit) return false;
    word |= bit;
    ++count_;
    last_ = std::max(last_, index);
    return true;
  }

  bool contains(uint64_t index) const {
    auto page = pages_.find(index / kPageBits);
    return page != pages_.end() && page->second[index % kPageBits / 64] >> index % 64 & 1;
  }

  uint64_t count() const { return count_; }
  uint64_t last() const { return last_; }
  bool has_gap() const { return count_ > 0 && last_ >= count_; }
  uint64_t first_gap() const {
    uint64_t index = 0;
    while (contains(index)) ++index;
    return index;
  }

 private:
  static constexpr uint64_t kPageBits = 1 << 15;
  std::unordered_map<uint64_t, std::array<uint64_t, kPageBits / 64>> pages_;
  uint64_t count_ = 0, last_ = 0;
};

bool fits(const Shape& shape, const Shape& spec) {
  if (shape.rank() != spec.rank() || !shape.is_known()) return false;
  for (int axis = 0; axis < spec.rank(); ++axis)
    if (spec[axis] >= 0 && spec[axis] != shape[axis]) return false;
  return true;
}

void check_element(std::span<const ConstTensorView> element, std::span<const TensorSpec> spec,
                   int64_t index) {
  if (element.size() != spec.size())
    throw ShapeError(fmt::format("element {}: expected {} components, got {}", index, spec.size(),
                                 element.size()));
  for (size_t component = 0; component < spec.size(); ++component) {
    const ConstTensorView& view = element[component];
    if (view.dtype != spec[component].dtype || !fits(view.shape, spec[component].shape))
      throw ShapeError(fmt::format("element {}, component {}: expected {}, got {}", index,
                                   component, to_string(spec[component]),
                                   to_string(TensorSpec{view.dtype, view.shape})));
    if (view.data == nullptr && view.elements() > 0)
      throw ValueError(fmt::format("element {}, component {}: has no data", index, component));
  }
}

void remove_quietly(const std::string& path, FileSystem& files) {
  try {
    files.remove(path);
  } catch (const FileError&) {
    // What is left is removed by the next writer.
  }
}

std::string parent_of(const std::string& path) {
  std::string parent = std::filesystem::absolute(path).lexically_normal().parent_path().string();
  return parent.empty() ? "/" : parent;
}

// What stands in a directory of shards.
struct Contents {
  std::set<std::string> shards, temporaries;
  bool has_manifest = false;
  uint32_t next_generation = 0;
};

Contents look_into(const std::string& path, FileSystem& files) {
  Contents contents;
  for (const DirectoryEntry& entry : files.list(path)) {
    ShardName name;
    if (entry.name == kLockName || entry.name == kSourcesName) continue;
    if (entry.name == kManifestName) {
      contents.has_manifest = true;
    } else if (entry.name.ends_with(kTemporarySuffix)) {
      contents.temporaries.insert(entry.name);
    } else if (parse_shard_name(entry.name, name)) {
      contents.shards.insert(entry.name);
      contents.next_generation = std::max(contents.next_generation, name.generation + 1);
    } else {
      throw FileError(
          fmt::format("{}: holds \"{}\", which does not belong to shards; choose a new or an "
                      "empty directory",
                      path, entry.name));
    }
  }
  return contents;
}

}  // namespace

class ShardWriter::Impl {
 public:
  Impl(std::string path, std::vector<TensorSpec> spec, const ShardOptions& options,
       FileSystem& files)
      : path_(std::move(path)), files_(files), shard_bytes_(options.shard_bytes) {
    manifest_.spec = std::move(spec);
    manifest_.names = options.names;
    manifest_.fingerprint = options.fingerprint;
    check_options();
    made_directory_ = !files_.exists(path_);
    files_.create_directories(path_);
    lock_ = lock_or_refuse(
        path_, "one writer at a time can fill it: wait, or choose another folder", files_);
    Contents contents = look_into(path_, files_);
    generation_ = contents.next_generation;
    remove_leftovers(contents);
  }

  ~Impl() {
    if (publishing_) return;
    file_.reset();
    for (uint32_t number = 0; number < next_shard_; ++number)
      remove_quietly(in_directory(make_shard_name({generation_, number})), files_);
    lock_.reset();
    if (made_directory_) remove_quietly(path_, files_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void write(int64_t index, std::span<const ConstTensorView> element) {
    check_usable();
    check_element(element, manifest_.spec, index);
    if (index < 0) throw ValueError(fmt::format("{}: there is no element {}", path_, index));
    if (!written_.insert(uint64_t(index)))
      throw ValueError(fmt::format("{}: element {} was written before", path_, index));
    failed_ = true;
    if (!file_) file_.emplace(path_, ShardName{generation_, next_shard_++}, files_);
    file_->write(uint64_t(index), element, manifest_.spec);
    if (file_->bytes() >= shard_bytes_) close_shard();
    failed_ = false;
  }

  void finish() {
    check_usable();
    if (written_.has_gap())
      throw ValueError(fmt::format("{}: element {} is missing: {} of {} were written", path_,
                                   written_.first_gap(), written_.count(), written_.last() + 1));
    failed_ = true;
    close_shard();
    manifest_.elements = written_.count();
    files_.sync_directory(path_);
    files_.sync_directory(parent_of(path_));
    // From here on the shards may belong to a dataset, also if this fails: when the directory
    // cannot be synced, the manifest is in its place. They are removed by the next writer if they
    // do not.
    publishing_ = true;
    write_file_atomically(in_directory(kManifestName), make_manifest(manifest_), files_);
    finished_ = true;
    remove_previous();
    lock_.reset();
  }

 private:
  std::string in_directory(std::string_view name) const {
    return fmt::format("{}/{}", path_, name);
  }

  void check_options() const {
    if (!manifest_.names.empty() && manifest_.names.size() != manifest_.spec.size())
      throw ValueError(fmt::format("{}: {} names for {} components", path_, manifest_.names.size(),
                                   manifest_.spec.size()));
    for (const TensorSpec& spec : manifest_.spec)
      if (spec.shape.is_known() && spec.shape.elements() > INT64_MAX / 8)
        throw ValueError(fmt::format("{}: {} is too large", path_, to_string(spec)));
    // Also: names and a fingerprint that are not UTF-8.
    if (size_t bytes = make_manifest(manifest_).size(); bytes > kMaxManifest / 2)
      throw ValueError(
          fmt::format("{}: names and fingerprint have {} bytes, more than the {} that "
                      "are allowed",
                      path_, bytes, kMaxManifest / 2));
  }

  void check_usable() const {
    if (finished_) throw Error(path_ + ": the dataset is finished");
    if (failed_) throw Error(path_ + ": writing failed before, and the dataset is lost");
  }

  void close_shard() {
    if (file_) manifest_.shards.push_back(file_->finish());
    file_.reset();
  }

  // Of writers that did not finish. The shards of a manifest that cannot be read stay until another
  // takes its place.
  void remove_leftovers(Contents& contents) {
    for (const std::string& name : contents.temporaries) remove_quietly(in_directory(name), files_);
    if (contents.has_manifest) {
      try {
        for (const auto& shard :
             parse_manifest(read_text(in_directory(kManifestName), files_)).shards)
          contents.shards.erase(shard.file);
      } catch (const Error&) {
        return;
      }
    }
    for (const std::string& name : contents.shards) remove_quietly(in_directory(name), files_);
  }

  // The dataset is complete, whatever happens here.
  void remove_previous() {
    try {
      for (const std::string& name : look_into(path_, files_).shards)
        if (std::ranges::find(manifest_.shards, name, &ShardManifest::Shard::file) ==
            manifest_.shards.end())
          remove_quietly(in_directory(name), files_);
    } catch (const FileError&) {
      // Left to the next writer.
    }
  }

  const std::string path_;
  FileSystem& files_;
  const uint64_t shard_bytes_;
  std::unique_ptr<FolderLock> lock_;
  ShardManifest manifest_;
  bool made_directory_ = false, failed_ = false, publishing_ = false, finished_ = false;
  uint32_t generation_ = 0, next_shard_ = 0;
  std::optional<ShardFile> file_;
  IndexSet written_;
};

ShardWriter::ShardWriter(std::string path, std::vector<TensorSpec> spec,
                         const ShardOptions& options, FileSystem& files)
    : impl_(std::make_unique<Impl>(std::move(path), std::move(spec), options, files)) {}

ShardWriter::~ShardWriter() = default;

void ShardWriter::write(int64_t index, std::span<const ConstTensorView> element) {
  impl_->write(index, element);
}

void ShardWriter::finish() { impl_->finish(); }

void check_shard_folder(const std::string& path, FileSystem& files) {
  if (files.exists(path)) look_into(path, files);
}

}  // namespace stoker
