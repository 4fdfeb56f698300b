#include <atomic>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "formats/crc32c.h"
#include "formats/shard_manifest.h"
#include "formats/shards.h"

namespace stoker {

namespace {

constexpr int kSlotBits = 40;  // of a place: shard, then record in the shard

ShardManifest read_manifest(const std::string& path, FileSystem& files) {
  std::string name = fmt::format("{}/{}", path, kManifestName);
  auto file = files.open(name);
  if (file->size() > kMaxManifest)
    throw FileError(fmt::format("{}: has {} bytes, more than the {} that are allowed", name,
                                file->size(), kMaxManifest));
  std::string text(size_t(file->size()), ' ');
  file->read_exactly(0, std::as_writable_bytes(std::span(text)));
  try {
    return parse_manifest(text);
  } catch (const ValueError& error) {
    throw FileError(fmt::format("{}: not a valid manifest: {:.400}", name, error.what()));
  }
}

template <class... Args>
[[noreturn]] void damaged(const std::string& path, fmt::format_string<Args...> text,
                          Args&&... args) {
  throw FileError(fmt::format("{}: not a valid shard: {}", path,
                              fmt::format(text, std::forward<Args>(args)...)));
}

// One shard file, open.
class Shard {
 public:
  Shard(const std::string& path, const ShardManifest::Shard& said, uint32_t number,
        size_t alignment, const ShardReadOptions& options, FileSystem& files)
      : path_(path), file_(files.open(path)) {
    if (file_->size() != said.bytes)
      damaged(path_, "has {} bytes, the manifest says {}", file_->size(), said.bytes);
    if (options.map) map_ = file_->map();
    if (map_) file_.reset();  // a dataset may have more shards than a process may have open files
    read_ends(said, number);
    read_index(options);
    check_index(alignment);
  }

  const std::string& path() const { return path_; }
  std::span<const ShardIndexEntry> index() const { return index_; }
  bool is_mapped() const { return map_ != nullptr; }

  // `buffer` is filled where the file is not mapped.
  std::span<const std::byte> record(const ShardIndexEntry& entry, Tensor& buffer) const {
    if (map_) return map_->bytes().subspan(size_t(entry.offset), size_t(entry.bytes));
    if (!buffer.defined() || buffer.bytes() < entry.bytes)
      buffer = Tensor(DType::uint8, {int64_t(entry.bytes)});
    std::span memory(static_cast<std::byte*>(buffer.raw_mut()), size_t(entry.bytes));
    file_->read_exactly(entry.offset, memory);
    return memory;
  }

 private:
  void read(uint64_t offset, std::span<std::byte> out) const {
    if (map_)
      std::memcpy(out.data(), map_->bytes().data() + offset, out.size());
    else
      file_->read_exactly(offset, out);
  }

  void read_ends(const ShardManifest::Shard& said, uint32_t number) {
    if (said.bytes < sizeof(ShardHeader) + sizeof(ShardFooter))
      damaged(path_, "is too short for a shard: {} bytes", said.bytes);
    ShardHeader header;
    read(0, std::as_writable_bytes(std::span(&header, 1)));
    read(said.bytes - sizeof(footer_), std::as_writable_bytes(std::span(&footer_, 1)));
    ShardHeader expected{.number = number};
    if (header != expected) damaged(path_, "does not begin as shard {} of version 1", number);
    if (footer_.magic != kShardEndMagic) damaged(path_, "does not end as a shard");
    if (uint32_t crc = footer_crc(header, footer_); footer_.crc != crc)
      damaged(path_, "the checksum of its ends is wrong: expected {:08x}, got {:08x}", crc,
              footer_.crc);
    if (footer_.crc != said.crc || footer_.records != said.records)
      damaged(path_,
              "is not the one of the manifest: {} records and checksum {:08x}, not {} and "
              "{:08x}",
              footer_.records, footer_.crc, said.records, said.crc);
    uint64_t room = said.bytes - sizeof(ShardHeader) - sizeof(ShardFooter);
    if (footer_.records > room / sizeof(ShardIndexEntry) ||
        footer_.index_offset !=
            said.bytes - sizeof(ShardFooter) - footer_.records * sizeof(ShardIndexEntry))
      damaged(path_, "an index of {} records at {} does not fit", footer_.records,
              footer_.index_offset);
    if (footer_.index_offset % alignof(ShardIndexEntry) != 0)
      damaged(path_, "its index is not aligned: {}", footer_.index_offset);
  }

  void read_index(const ShardReadOptions& options) {
    auto count = size_t(footer_.records);
    if (map_) {
      const std::byte* begin = map_->bytes().data() + footer_.index_offset;
      index_ = {reinterpret_cast<const ShardIndexEntry*>(begin), count};
    } else {
      own_index_.resize(count);
      read(footer_.index_offset, std::as_writable_bytes(std::span(own_index_)));
      index_ = own_index_;
    }
    uint32_t crc = options.check ? crc32c(std::as_bytes(index_)) : footer_.index_crc;
    if (crc != footer_.index_crc)
      damaged(path_, "the checksum of its index is wrong: expected {:08x}, got {:08x}", crc,
              footer_.index_crc);
  }

  // Records follow each other from the header to the index.
  void check_index(size_t alignment) const {
    uint64_t position = sizeof(ShardHeader);
    for (size_t slot = 0; slot < index_.size(); ++slot) {
      const ShardIndexEntry& entry = index_[slot];
      if (entry.offset != position || entry.bytes % alignment != 0 || entry.zero != 0 ||
          entry.bytes > footer_.index_offset - position)
        damaged(path_, "record {} has {} bytes at {}, expected it at {}", slot, entry.bytes,
                entry.offset, position);
      position += entry.bytes;
    }
    if (position != footer_.index_offset)
      damaged(path_, "its records end at {}, its index begins at {}", position,
              footer_.index_offset);
  }

  std::string path_;
  std::unique_ptr<FileReader> file_;
  std::unique_ptr<MappedFile> map_;
  ShardFooter footer_;
  std::vector<ShardIndexEntry> own_index_;
  std::span<const ShardIndexEntry> index_;
};

}  // namespace

class ShardReader::Impl {
 public:
  Impl(std::string path, const ShardReadOptions& options, FileSystem& files)
      : path_(std::move(path)), options_(options), manifest_(read_manifest(path_, files)) {
    open_shards(files);
    place_elements();
    checked_ = std::vector<std::atomic<uint64_t>>((places_.size() + 63) / 64);
  }

  const ShardManifest& manifest() const { return manifest_; }

  void read(int64_t index, std::vector<ShardComponent>& components,
            std::vector<std::string_view>& strings, Tensor& buffer) const {
    if (index < 0 || uint64_t(index) >= places_.size())
      throw ValueError(
          fmt::format("{}: there is no element {}, it has {}", path_, index, places_.size()));
    uint64_t place = places_[size_t(index)];
    const Shard& shard = shards_[size_t(place >> kSlotBits)];
    size_t slot = size_t(place & ((uint64_t(1) << kSlotBits) - 1));
    const ShardIndexEntry& entry = shard.index()[slot];
    try {
      auto bytes = shard.record(entry, buffer);
      check(size_t(index), shard, entry, bytes);
      parse_record(bytes, manifest_.spec, components, strings);
    } catch (const ValueError& error) {
      throw FileError(fmt::format("{}: record {} at {} (element {}) is damaged: {}", shard.path(),
                                  slot, entry.offset, index, error.what()));
    }
  }

 private:
  void open_shards(FileSystem& files) {
    if (manifest_.shards.size() >= uint64_t(1) << (64 - kSlotBits))
      throw FileError(fmt::format("{}: has {} shards, too many", path_, manifest_.shards.size()));
    size_t alignment = record_alignment(manifest_.spec);
    for (const ShardManifest::Shard& shard : manifest_.shards)
      shards_.emplace_back(fmt::format("{}/{}", path_, shard.file), shard, uint32_t(shards_.size()),
                           alignment, options_, files);
  }

  // Each element has one record. Memory is taken for as many as there are in the files.
  void place_elements() {
    uint64_t records = 0;
    for (const Shard& shard : shards_) records += shard.index().size();
    if (records != manifest_.elements)
      throw FileError(fmt::format("{}: the shards hold {} records, the manifest says {}", path_,
                                  records, manifest_.elements));
    places_.assign(size_t(records), kNowhere);
    for (size_t number = 0; number < shards_.size(); ++number) {
      auto index = shards_[number].index();
      for (size_t slot = 0; slot < index.size(); ++slot) place(number, slot, index[slot].element);
    }
  }

  void place(size_t number, size_t slot, uint64_t element) {
    if (element >= places_.size() || places_[size_t(element)] != kNowhere)
      damaged(shards_[number].path(), "record {} is of element {}, which {}", slot, element,
              element >= places_.size() ? "does not exist" : "has another");
    places_[size_t(element)] = uint64_t(number) << kSlotBits | slot;
  }

  // Mapped bytes are looked at once; bytes that were read now, every time.
  void check(size_t index, const Shard& shard, const ShardIndexEntry& entry,
             std::span<const std::byte> bytes) const {
    std::atomic<uint64_t>& word = checked_[index / 64];
    uint64_t bit = uint64_t(1) << index % 64;
    if (!options_.check || (shard.is_mapped() && word.load(std::memory_order_relaxed) & bit))
      return;
    if (uint32_t crc = crc32c(bytes); crc != entry.crc)
      throw ValueError(
          fmt::format("its checksum is wrong: expected {:08x}, got {:08x}", crc, entry.crc));
    word.fetch_or(bit, std::memory_order_relaxed);
  }

  static constexpr uint64_t kNowhere = UINT64_MAX;

  const std::string path_;
  const ShardReadOptions options_;
  const ShardManifest manifest_;
  std::vector<Shard> shards_;
  std::vector<uint64_t> places_;
  mutable std::vector<std::atomic<uint64_t>> checked_;
};

ShardReader::ShardReader(std::string path, const ShardReadOptions& options, FileSystem& files)
    : impl_(std::make_unique<Impl>(std::move(path), options, files)) {}
ShardReader::~ShardReader() = default;
ShardReader::ShardReader(ShardReader&&) noexcept = default;

int64_t ShardReader::size() const { return int64_t(impl_->manifest().elements); }
const std::vector<TensorSpec>& ShardReader::spec() const { return impl_->manifest().spec; }
const std::vector<std::string>& ShardReader::names() const { return impl_->manifest().names; }
const std::string& ShardReader::fingerprint() const { return impl_->manifest().fingerprint; }

void ShardReader::read(int64_t index, ShardRecord& record) const {
  impl_->read(index, record.components_, record.strings_, record.buffer_);
}

ShardRecord ShardReader::read(int64_t index) const {
  ShardRecord record;
  read(index, record);
  return record;
}

ConstTensorView ShardRecord::view(size_t component) const {
  const ShardComponent& wanted = components_.at(component);
  if (wanted.spec.dtype == DType::bytes)
    throw Error(fmt::format("component {} is bytes; ask for its strings", component));
  return {wanted.spec.dtype, wanted.spec.shape, wanted.data};
}

std::span<const std::string_view> ShardRecord::strings(size_t component) const {
  const ShardComponent& wanted = components_.at(component);
  if (wanted.spec.dtype != DType::bytes)
    throw Error(
        fmt::format("component {} is {}; ask for its view", component, to_string(wanted.spec)));
  return std::span(strings_).subspan(wanted.first_string, size_t(wanted.spec.shape.elements()));
}

bool shards_exist(const std::string& path, FileSystem& files) {
  return files.exists(fmt::format("{}/{}", path, kManifestName));
}

}  // namespace stoker
