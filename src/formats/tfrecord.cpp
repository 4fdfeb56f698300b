#include "formats/tfrecord.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>
#include <stoker/error.h>

#include "formats/crc32c.h"
#include "formats/gzip.h"

namespace stoker {

namespace {

constexpr size_t kLengthBytes = 8, kCrcBytes = 4;
constexpr size_t kHeaderBytes = kLengthBytes + kCrcBytes;
constexpr size_t kPendingBytes = 1 << 16;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

uint32_t masked_crc(std::span<const std::byte> bytes) { return mask_crc32c(crc32c(bytes)); }

bool is_header(const std::byte* bytes) {
  return masked_crc({bytes, kLengthBytes}) == load<uint32_t>(bytes + kLengthBytes);
}

// A plain file is known by the checksum of its first length, and before all else: its first bytes
// may be those of a gzip file, for example in a record of 35,615 bytes.
TFRecordCompression detect_compression(FileReader& file) {
  std::array<std::byte, kHeaderBytes> first{};
  size_t count = size_t(std::min<uint64_t>(file.size(), first.size()));
  file.read_exactly(0, std::span(first).first(count));
  if (count == kHeaderBytes && is_header(first.data())) return TFRecordCompression::none;
  auto byte = [&](size_t index) { return int(first[index]); };
  if (count >= 2 && byte(0) == 0x1f && byte(1) == 0x8b) return TFRecordCompression::gzip;
  if (count >= 2 && byte(0) == 0x78 && (byte(0) * 256 + byte(1)) % 31 == 0)
    return TFRecordCompression::zlib;
  return TFRecordCompression::none;
}

TFRecordCompression compression_of(FileReader& file, const TFRecordOptions& options) {
  return options.compression == TFRecordCompression::detect ? detect_compression(file)
                                                            : options.compression;
}

template <class... Args>
[[noreturn]] void fail_at(const FileReader& file, uint64_t offset, fmt::format_string<Args...> text,
                          Args&&... args) {
  throw FileError(fmt::format("{}: the record at {} {}", file.path(), offset,
                              fmt::format(text, std::forward<Args>(args)...)));
}

void check_header(const FileReader& file, uint64_t offset, const std::byte* header) {
  if (!is_header(header))
    fail_at(file, offset, "has a wrong checksum of its length: expected {:08x}, got {:08x}",
            masked_crc({header, kLengthBytes}), load<uint32_t>(header + kLengthBytes));
}

// Before memory is taken. `most` is what the file can hold behind the header, its last CRC
// included.
void check_length(const FileReader& file, uint64_t offset, uint64_t length, uint64_t most,
                  const TFRecordOptions& options) {
  if (length > options.most_record_bytes)
    fail_at(file, offset, "claims {} bytes, more than the {} that are allowed", length,
            options.most_record_bytes);
  if (most < kCrcBytes || length > most - kCrcBytes)
    fail_at(file, offset, "claims {} bytes and a checksum, but the file has {} behind its header",
            length, most);
}

void check_data(const FileReader& file, uint64_t offset, std::span<const std::byte> bytes,
                uint32_t stored) {
  uint32_t computed = masked_crc(bytes);
  if (computed != stored)
    fail_at(file, offset, "has a wrong checksum of its {} bytes: expected {:08x}, got {:08x}",
            bytes.size(), computed, stored);
}

void refuse_compressed(FileReader& file, const TFRecordOptions& options) {
  if (compression_of(file, options) != TFRecordCompression::none)
    throw ValueError(file.path() +
                     ": is compressed, and has no records to go to; read it from its beginning");
}

}  // namespace

// The bytes before compression, one after the other.
class TFRecordReader::Source {
 public:
  Source(FileReader& file, TFRecordCompression compression) : file_(file) {
    if (compression == TFRecordCompression::gzip) inflate_.emplace(file, DeflateWrapper::gzip);
    if (compression == TFRecordCompression::zlib) inflate_.emplace(file, DeflateWrapper::zlib);
  }

  bool is_plain() const { return !inflate_; }
  void seek(uint64_t offset) { position_ = offset; }

  // At most so many bytes can follow `offset`.
  uint64_t most_after(uint64_t offset) const {
    uint64_t all = 0;
    if (__builtin_mul_overflow(file_.size(), is_plain() ? 1 : kLargestDeflateRatio, &all))
      all = UINT64_MAX;
    return all - std::min(all, offset);
  }

  // Some bytes, none only at the end.
  size_t read(std::span<std::byte> out) {
    if (inflate_) return inflate_->read(out);
    size_t count = file_.read_at(position_, out);
    position_ += count;
    return count;
  }

 private:
  FileReader& file_;
  std::optional<GzipReader> inflate_;
  uint64_t position_ = 0;
};

TFRecordReader::TFRecordReader(FileReader& file, const TFRecordOptions& options)
    : file_(file),
      options_(options),
      source_(std::make_unique<Source>(file, compression_of(file, options))) {
  options_.buffer_bytes = std::max(options.buffer_bytes, kHeaderBytes);
}

TFRecordReader::~TFRecordReader() = default;

bool TFRecordReader::can_seek() const { return source_->is_plain(); }

void TFRecordReader::seek(uint64_t offset) {
  if (!can_seek()) refuse_compressed(file_, options_);
  source_->seek(offset);
  begin_ = end_ = 0;
  offset_ = offset;
  framed_ = true;
}

// The buffer grows with what arrives, never at the word of the file: a compressed file can claim
// anything.
size_t TFRecordReader::fill(uint64_t count) {
  if (end_ - begin_ < count && begin_ > 0) {
    std::memmove(buffer_.data(), data(), end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  while (end_ - begin_ < count) {
    if (end_ == buffer_.size())
      buffer_.resize(buffer_.empty()
                         ? options_.buffer_bytes
                         : size_t(std::min<uint64_t>(
                               buffer_.size() * 2, std::max<uint64_t>(count, buffer_.size() + 1))));
    size_t got = source_->read(std::span(buffer_).subspan(end_));
    if (got == 0) break;
    end_ += got;
  }
  return size_t(std::min<uint64_t>(count, end_ - begin_));
}

std::optional<TFRecord> TFRecordReader::next() {
  framed_ = false;
  size_t got = fill(kHeaderBytes);
  if (got == 0) return std::nullopt;
  if (got < kHeaderBytes)
    fail_at(file_, offset_, "ends inside its header: expected {} bytes, got {}", kHeaderBytes, got);
  check_header(file_, offset_, data());
  auto length = load<uint64_t>(data());
  check_length(file_, offset_, length, source_->most_after(offset_ + kHeaderBytes), options_);
  uint64_t all = kHeaderBytes + length + kCrcBytes;
  if (size_t have = fill(all); have < all)
    fail_at(file_, offset_, "ends inside its {} bytes: {} are missing", length, all - have);
  TFRecord record{{data() + kHeaderBytes, size_t(length)}, offset_};
  auto stored = load<uint32_t>(data() + kHeaderBytes + length);
  begin_ += size_t(all);
  offset_ += all;
  framed_ = true;
  if (options_.check_data) check_data(file_, record.offset, record.bytes, stored);
  return record;
}

std::vector<TFRecordPlace> index_tfrecord(FileReader& file, const TFRecordOptions& options) {
  refuse_compressed(file, options);
  std::vector<TFRecordPlace> places;
  uint64_t offset = 0, size = file.size();
  while (offset < size) {
    std::array<std::byte, kHeaderBytes> header{};
    if (size - offset < kHeaderBytes)
      fail_at(file, offset, "ends inside its header: expected {} bytes, got {}", kHeaderBytes,
              size - offset);
    file.read_exactly(offset, header);
    check_header(file, offset, header.data());
    auto length = load<uint64_t>(header.data());
    check_length(file, offset, length, size - offset - kHeaderBytes, options);
    places.push_back({offset, length});
    offset += kHeaderBytes + length + kCrcBytes;
  }
  return places;
}

void read_tfrecord(FileReader& file, const TFRecordPlace& place, std::vector<std::byte>& out,
                   const TFRecordOptions& options) {
  uint64_t left = file.size() - std::min(file.size(), place.offset);
  check_length(file, place.offset, place.bytes, left - std::min<uint64_t>(left, kHeaderBytes),
               options);
  out.resize(size_t(place.bytes + kCrcBytes));
  file.read_exactly(place.offset + kHeaderBytes, out);
  auto stored = load<uint32_t>(out.data() + place.bytes);
  out.resize(size_t(place.bytes));
  if (options.check_data) check_data(file, place.offset, out, stored);
}

void TFRecordWriter::write(std::span<const std::byte> record) {
  uint64_t length = record.size();
  auto append = [&](std::span<const std::byte> bytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  };
  auto append_crc = [&](std::span<const std::byte> bytes) {
    uint32_t crc = masked_crc(bytes);
    append(std::as_bytes(std::span(&crc, 1)));
  };
  auto length_bytes = std::as_bytes(std::span(&length, 1));
  append(length_bytes);
  append_crc(length_bytes);
  append(record);
  append_crc(record);
  if (buffer_.size() >= kPendingBytes) flush();
}

void TFRecordWriter::flush() {
  file_.write(buffer_);
  buffer_.clear();
}

}  // namespace stoker
