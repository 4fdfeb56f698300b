#include "formats/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

constexpr size_t kInflateBytes = 1 << 16;
constexpr int kGzipFormat = 16 + MAX_WBITS;  // zlib's way to ask for gzip with any window

}  // namespace

bool is_gzip(FileReader& file) {
  std::array<std::byte, 2> magic{};
  if (file.size() < magic.size()) return false;
  file.read_exactly(0, magic);
  return magic == std::array{std::byte{0x1f}, std::byte{0x8b}};
}

struct GzipReader::Stream {
  Stream(FileReader& source, DeflateWrapper wrapper)
      : file(source),
        name(wrapper == DeflateWrapper::gzip ? "gzip" : "zlib"),
        buffer(kInflateBytes) {
    if (inflateInit2(&zlib, wrapper == DeflateWrapper::gzip ? kGzipFormat : MAX_WBITS) != Z_OK)
      throw Error("out of host memory: gzip needs a window of 32 KiB");
  }
  ~Stream() { inflateEnd(&zlib); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Takes in more of the file when all of the buffer is used; false at the end of the file.
  bool refill() {
    if (zlib.avail_in > 0) return true;
    size_t count = file.read(buffer);
    zlib.next_in = reinterpret_cast<Bytef*>(buffer.data());
    zlib.avail_in = uInt(count);
    return count > 0;
  }

  // Moves to the member that follows, if there is one.
  bool next_member() {
    if (!refill()) return false;
    inflateReset(&zlib);
    inside_member = true;
    return true;
  }

  void inflate_some() {
    if (!refill()) throw FileError(fmt::format("{}: the {} stream is cut off", file.path(), name));
    int status = inflate(&zlib, Z_NO_FLUSH);
    if (status == Z_STREAM_END)
      inside_member = false;
    else if (status != Z_OK)
      throw FileError(fmt::format("{}: the {} stream is damaged: {}", file.path(), name,
                                  zlib.msg != nullptr ? zlib.msg : zError(status)));
  }

  FileReader& file;
  const char* name;
  std::vector<std::byte> buffer;
  z_stream zlib{};
  bool inside_member = true;
};

GzipReader::GzipReader(FileReader& file, DeflateWrapper wrapper)
    : stream_(std::make_unique<Stream>(file, wrapper)) {}
GzipReader::~GzipReader() = default;

size_t GzipReader::read(std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size() && (stream_->inside_member || stream_->next_member())) {
    auto room = uInt(std::min<size_t>(out.size() - done, std::numeric_limits<uInt>::max()));
    stream_->zlib.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream_->zlib.avail_out = room;
    stream_->inflate_some();
    done += room - stream_->zlib.avail_out;
  }
  return done;
}

}  // namespace stoker
