#include "formats/zip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/printable.h"
#include "formats/gzip.h"

namespace stoker {

namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint64_t kEndBytes = 22, kCentralBytes = 46, kLocalBytes = 30, kLocator64Bytes = 20,
                   kEnd64Bytes = 56;
constexpr uint32_t kIn64 = 0xFFFFFFFF;  // the number stands in the extra field
constexpr uint16_t kExtra64 = 1;
constexpr size_t kPackedBuffer = 1 << 16;

[[noreturn]] void broken(const FileReader& file, const std::string& why) {
  throw FileError(fmt::format("{}: {}; is it a whole .npz or .zip file?", file.path(), why));
}

// Little endian numbers in a piece of a file.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t number(size_t at, size_t size) const {
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= uint64_t(bytes_[at + i]) << (8 * i);
    return value;
  }
  uint16_t two(size_t at) const { return uint16_t(number(at, 2)); }
  uint32_t four(size_t at) const { return uint32_t(number(at, 4)); }
  uint64_t eight(size_t at) const { return number(at, 8); }
  std::span<const std::byte> piece(size_t at, size_t size) const {
    return bytes_.subspan(at, size);
  }
  size_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

std::vector<std::byte> bytes_at(FileReader& file, uint64_t offset, uint64_t size,
                                const char* what) {
  if (offset > file.size() || size > file.size() - offset)
    broken(file, fmt::format("its {} lies outside the file", what));
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  file.read_exactly(offset, bytes);
  return bytes;
}

struct Directory {
  uint64_t offset = 0, bytes = 0, entries = 0;
};

// The record at the very end, behind which a comment may stand.
Directory find_directory(FileReader& file) {
  uint64_t tail = std::min<uint64_t>(file.size(), kEndBytes + 0xFFFF);
  std::vector<std::byte> bytes = bytes_at(file, file.size() - tail, tail, "end");
  Numbers numbers(bytes);
  for (size_t at = tail >= kEndBytes ? size_t(tail - kEndBytes) + 1 : 0; at-- > 0;) {
    if (numbers.four(at) != kEnd || numbers.two(at + 20) != tail - kEndBytes - at) continue;
    uint64_t place = file.size() - tail + at;
    Directory directory{numbers.four(at + 16), numbers.four(at + 12), numbers.two(at + 10)};
    if (place < kLocator64Bytes) return directory;
    std::vector<std::byte> before =
        bytes_at(file, place - kLocator64Bytes, kLocator64Bytes, "directory");
    if (Numbers(before).four(0) != kLocator64) return directory;
    std::vector<std::byte> end64 =
        bytes_at(file, Numbers(before).eight(8), kEnd64Bytes, "directory");
    Numbers large(end64);
    if (large.four(0) != kEnd64) broken(file, "its zip64 directory is not there");
    return {large.eight(48), large.eight(40), large.eight(32)};
  }
  broken(file, "it has no directory at its end");
}

// Numbers that did not fit into 32 bits, in this order.
void read_extra64(Numbers extra, ZipEntry& entry) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    size_t size = extra.two(at + 2), from = at + 4;
    if (size > extra.size() - from) return;
    if (extra.two(at) == kExtra64) {
      for (uint64_t* value : {&entry.bytes, &entry.packed_bytes, &entry.header})
        if (*value == kIn64 && from + 8 <= at + 4 + size) {
          *value = extra.eight(from);
          from += 8;
        }
      return;
    }
    at = from + size;
  }
}

}  // namespace

std::vector<ZipEntry> list_zip(FileReader& file) {
  Directory directory = find_directory(file);
  std::vector<std::byte> bytes = bytes_at(file, directory.offset, directory.bytes, "directory");
  Numbers numbers(bytes);
  std::vector<ZipEntry> entries;
  for (size_t at = 0; entries.size() < directory.entries;) {
    if (bytes.size() - at < kCentralBytes || numbers.four(at) != kCentral)
      broken(file, fmt::format("entry {} of its directory is damaged", entries.size()));
    size_t name = numbers.two(at + 28), extra = numbers.two(at + 30),
           comment = numbers.two(at + 32);
    size_t rest = bytes.size() - at - kCentralBytes;
    if (name + extra + comment > rest)
      broken(file, fmt::format("entry {} of its directory is cut off", entries.size()));
    auto text = numbers.piece(at + kCentralBytes, name);
    ZipEntry entry{.name = {reinterpret_cast<const char*>(text.data()), text.size()},
                   .header = numbers.four(at + 42),
                   .packed_bytes = numbers.four(at + 20),
                   .bytes = numbers.four(at + 24),
                   .crc32 = numbers.four(at + 16),
                   .method = numbers.two(at + 10)};
    read_extra64(Numbers(numbers.piece(at + kCentralBytes + name, extra)), entry);
    if ((numbers.two(at + 8) & 1) != 0)
      throw FileError(fmt::format("{}: \"{}\" is encrypted, which is not read", file.path(),
                                  printable(entry.name)));
    entries.push_back(std::move(entry));
    at += kCentralBytes + name + extra + comment;
  }
  return entries;
}

struct ZipEntryReader::Inflating {
  Inflating() : buffer(kPackedBuffer) {
    if (inflateInit2(&zlib, -MAX_WBITS) != Z_OK)
      throw Error("out of host memory: deflate needs a window of 32 KiB");
  }
  ~Inflating() { inflateEnd(&zlib); }
  Inflating(const Inflating&) = delete;
  Inflating& operator=(const Inflating&) = delete;

  z_stream zlib{};
  std::vector<std::byte> buffer;
  bool ended = false;
};

ZipEntryReader::ZipEntryReader(FileReader& file, ZipEntry entry)
    : file_(file), entry_(std::move(entry)) {
  std::vector<std::byte> local = bytes_at(file, entry_.header, kLocalBytes, "entry");
  Numbers numbers(local);
  if (numbers.four(0) != kLocal)
    broken(file, fmt::format("\"{}\" does not begin where it should", printable(entry_.name)));
  at_ = entry_.header + kLocalBytes + numbers.two(26) + numbers.two(28);
  if (at_ > file.size() || entry_.packed_bytes > file.size() - at_)
    broken(file, fmt::format("\"{}\" lies outside the file", printable(entry_.name)));
  end_ = at_ + entry_.packed_bytes;
  bool possible = entry_.method == 0 ? entry_.bytes == entry_.packed_bytes
                                     : entry_.bytes / kLargestDeflateRatio <= entry_.packed_bytes;
  if (entry_.method != 0 && entry_.method != Z_DEFLATED)
    throw FileError(
        fmt::format("{}: \"{}\" is compressed by method {}; np.savez and np.savez_compressed write "
                    "what is read",
                    file.path(), printable(entry_.name), entry_.method));
  if (!possible)
    broken(file, fmt::format("\"{}\" cannot have {} bytes", printable(entry_.name), entry_.bytes));
  if (entry_.method == Z_DEFLATED) inflating_ = std::make_unique<Inflating>();
  crc_ = uint32_t(::crc32(0, nullptr, 0));
}

ZipEntryReader::~ZipEntryReader() = default;

size_t ZipEntryReader::read_stored(std::span<std::byte> out) {
  out = out.first(size_t(std::min<uint64_t>(out.size(), end_ - at_)));
  file_.read_exactly(at_, out);
  at_ += out.size();
  return out.size();
}

size_t ZipEntryReader::read_deflated(std::span<std::byte> out) {
  Inflating& state = *inflating_;
  size_t done = 0;
  while (done < out.size() && !state.ended) {
    if (state.zlib.avail_in == 0) {
      auto room = size_t(std::min<uint64_t>(state.buffer.size(), end_ - at_));
      if (room == 0) broken(file_, fmt::format("\"{}\" is cut off", printable(entry_.name)));
      file_.read_exactly(at_, std::span(state.buffer).first(room));
      at_ += room;
      state.zlib.next_in = reinterpret_cast<Bytef*>(state.buffer.data());
      state.zlib.avail_in = uInt(room);
    }
    auto room = uInt(std::min<size_t>(out.size() - done, std::numeric_limits<uInt>::max()));
    state.zlib.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    state.zlib.avail_out = room;
    int status = inflate(&state.zlib, Z_NO_FLUSH);
    done += room - state.zlib.avail_out;
    state.ended = status == Z_STREAM_END;
    if (status != Z_OK && status != Z_STREAM_END)
      broken(file_, fmt::format("\"{}\" is damaged", printable(entry_.name)));
  }
  return done;
}

size_t ZipEntryReader::read(std::span<std::byte> out) {
  out = out.first(size_t(std::min<uint64_t>(out.size(), entry_.bytes - done_)));
  if (out.empty()) return 0;
  size_t got = inflating_ ? read_deflated(out) : read_stored(out);
  for (size_t at = 0; at < got;) {
    auto piece = uInt(std::min<size_t>(got - at, 1U << 30));
    crc_ = uint32_t(::crc32(crc_, reinterpret_cast<const Bytef*>(out.data() + at), piece));
    at += piece;
  }
  done_ += got;
  bool ended = got < out.size() || done_ == entry_.bytes;
  if (ended && (done_ != entry_.bytes || crc_ != entry_.crc32))
    broken(file_,
           fmt::format("\"{}\" is damaged: its checksum does not fit", printable(entry_.name)));
  return got;
}

// --- writing ------------------------------------------------------------------------------------

struct ZipWriter::Part {
  std::string header;
  std::string packed;  // empty: the pieces as they are
  std::vector<std::span<const std::byte>> pieces;
};

namespace {

void put(std::string& out, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) out += char(value >> (8 * i) & 0xFF);
}

std::string deflated(const std::vector<std::span<const std::byte>>& pieces) {
  z_stream zlib{};
  if (deflateInit2(&zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw Error("out of host memory: deflate");
  std::string out;
  std::array<char, kPackedBuffer> buffer;
  auto run = [&](int flush) {
    do {
      zlib.next_out = reinterpret_cast<Bytef*>(buffer.data());
      zlib.avail_out = uInt(buffer.size());
      deflate(&zlib, flush);
      out.append(buffer.data(), buffer.size() - zlib.avail_out);
    } while (zlib.avail_out == 0);
  };
  for (std::span<const std::byte> piece : pieces)
    for (size_t at = 0; at < piece.size();) {
      size_t size = std::min<size_t>(piece.size() - at, 1U << 30);
      zlib.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(piece.data() + at));
      zlib.avail_in = uInt(size);
      run(Z_NO_FLUSH);
      at += size;
    }
  run(Z_FINISH);
  deflateEnd(&zlib);
  return out;
}

uint64_t capped(uint64_t value) { return value >= kIn64 ? kIn64 : value; }

}  // namespace

void ZipWriter::add(const std::string& name, const std::vector<std::span<const std::byte>>& pieces,
                    bool deflate) {
  auto part = std::make_shared<Part>();
  uint64_t offset = 0;
  for (const auto& before : parts_) {
    offset += before->header.size() + before->packed.size();
    for (std::span<const std::byte> piece : before->pieces) offset += piece.size();
  }
  uint64_t bytes = 0;
  uLong crc = ::crc32(0, nullptr, 0);
  for (std::span<const std::byte> piece : pieces) {
    bytes += piece.size();
    for (size_t at = 0; at < piece.size();) {
      size_t size = std::min<size_t>(piece.size() - at, 1U << 30);
      crc = ::crc32(crc, reinterpret_cast<const Bytef*>(piece.data() + at), uInt(size));
      at += size;
    }
  }
  if (deflate)
    part->packed = deflated(pieces);
  else
    part->pieces = pieces;
  uint64_t packed = deflate ? part->packed.size() : bytes;
  bool large = bytes >= kIn64 || packed >= kIn64;

  auto common = [&](std::string& out, bool in_extra) {  // from the version to the lengths of names
    put(out, in_extra ? 45 : 20, 2);
    put(out, 0x800, 2);  // names are UTF-8
    put(out, deflate ? Z_DEFLATED : 0, 2);
    put(out, 0, 2);
    put(out, 0x21, 2);  // the first of January 1980: the same arrays give the same bytes
    put(out, crc, 4);
    put(out, in_extra ? kIn64 : packed, 4);
    put(out, in_extra ? kIn64 : bytes, 4);
    put(out, name.size(), 2);
  };
  put(part->header, kLocal, 4);
  common(part->header, large);
  put(part->header, large ? 20 : 0, 2);
  part->header += name;
  std::string sizes;
  if (large) put(sizes, bytes, 8), put(sizes, packed, 8);
  if (large) put(part->header, kExtra64, 2), put(part->header, 16, 2), part->header += sizes;

  bool far = offset >= kIn64;
  if (far) put(sizes, offset, 8);
  put(directory_, kCentral, 4);
  put(directory_, 45, 2);
  common(directory_, large);
  put(directory_, sizes.empty() ? 0 : 4 + sizes.size(), 2);
  directory_.append(2 + 2 + 2 + 4, '\0');  // comment, disk and attributes
  put(directory_, capped(offset), 4);
  directory_ += name;
  if (!sizes.empty())
    put(directory_, kExtra64, 2), put(directory_, sizes.size(), 2), directory_ += sizes;
  parts_.push_back(std::move(part));
}

std::vector<std::span<const std::byte>> ZipWriter::finish() {
  uint64_t offset = 0, bytes = directory_.size(), count = parts_.size();
  std::vector<std::span<const std::byte>> all;
  for (const auto& part : parts_) {
    all.push_back(as_bytes(part->header));
    if (!part->packed.empty()) all.push_back(as_bytes(part->packed));
    all.insert(all.end(), part->pieces.begin(), part->pieces.end());
  }
  for (std::span<const std::byte> piece : all) offset += piece.size();
  if (offset >= kIn64 || bytes >= kIn64 || count >= 0xFFFF) {
    uint64_t place = offset + bytes;
    put(directory_, kEnd64, 4), put(directory_, kEnd64Bytes - 12, 8);
    put(directory_, 45, 2), put(directory_, 45, 2), put(directory_, 0, 8);
    put(directory_, count, 8), put(directory_, count, 8);
    put(directory_, bytes, 8), put(directory_, offset, 8);
    put(directory_, kLocator64, 4), put(directory_, 0, 4), put(directory_, place, 8);
    put(directory_, 1, 4);
  }
  put(directory_, kEnd, 4), put(directory_, 0, 4);
  for (int twice = 0; twice < 2; ++twice) put(directory_, std::min<uint64_t>(count, 0xFFFF), 2);
  put(directory_, capped(bytes), 4), put(directory_, capped(offset), 4), put(directory_, 0, 2);
  all.push_back(as_bytes(directory_));
  return all;
}

}  // namespace stoker
