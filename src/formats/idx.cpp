#include "formats/idx.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "formats/gzip.h"

namespace stoker {

namespace {

// The bytes of the file, decompressed where they are compressed.
class Source {
 public:
  explicit Source(FileReader& file) : file_(file) {
    if (is_gzip(file)) gzip_.emplace(file);
  }

  uint64_t most_bytes() const { return file_.size() * (gzip_ ? kLargestDeflateRatio : 1); }

  void read_exactly(std::span<std::byte> out, std::string_view what) {
    size_t count = read(out);
    if (count < out.size())
      throw FileError(fmt::format("{}: ends inside its {}: expected {} bytes, got {}", file_.path(),
                                  what, out.size(), count));
  }

  bool at_end() {
    std::byte extra;
    return read({&extra, 1}) == 0;
  }

 private:
  size_t read(std::span<std::byte> out) {
    if (gzip_) return gzip_->read(out);
    size_t done = 0;
    while (done < out.size()) {
      size_t count = file_.read(out.subspan(done));
      if (count == 0) break;
      done += count;
    }
    return done;
  }

  FileReader& file_;
  std::optional<GzipReader> gzip_;
};

std::optional<DType> dtype_of_code(std::byte code) {
  switch (int(code)) {
    case 0x08:
      return DType::uint8;
    case 0x09:
      return DType::int8;
    case 0x0B:
      return DType::int16;
    case 0x0C:
      return DType::int32;
    case 0x0D:
      return DType::float32;
    default:
      return std::nullopt;
  }
}

TensorSpec read_spec(Source& source, const std::string& path) {
  std::array<std::byte, 4> magic{};
  source.read_exactly(magic, "header");
  auto dtype = dtype_of_code(magic[2]);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0} || !dtype)
    throw FileError(
        fmt::format("{}: not an IDX file of uint8, int8, int16, int32 or float32: it begins with "
                    "{:02x} {:02x} {:02x}",
                    path, int(magic[0]), int(magic[1]), int(magic[2])));
  auto rank = size_t(magic[3]);
  if (rank > size_t(Shape::kMaxRank))
    throw FileError(
        fmt::format("{}: has {} dimensions, Stoker reads up to {}", path, rank, Shape::kMaxRank));
  std::array<int64_t, Shape::kMaxRank> dims{};
  for (size_t axis = 0; axis < rank; ++axis) {
    std::array<std::byte, 4> extent{};
    source.read_exactly(extent, "header");
    for (std::byte byte : extent) dims[axis] = dims[axis] << 8 | int64_t(byte);
  }
  return {*dtype, Shape(std::span(dims).first(rank))};
}

// Before memory is taken: can the file hold what its header says?
void check_size(const TensorSpec& spec, uint64_t most_bytes, const std::string& path) {
  uint64_t bytes = 0;
  bool fits = false;
  try {
    fits = !__builtin_mul_overflow(uint64_t(spec.shape.elements()), size_of(spec.dtype), &bytes) &&
           bytes <= most_bytes;
  } catch (const ShapeError&) {
    // More elements than can be counted: does not fit.
  }
  if (!fits) throw FileError(fmt::format("{}: is too short for {}", path, to_string(spec)));
}

void swap_bytes(std::span<std::byte> bytes, size_t element) {
  for (size_t begin = 0; element > 1 && begin < bytes.size(); begin += element)
    std::ranges::reverse(bytes.subspan(begin, element));
}

}  // namespace

Tensor read_idx(const std::string& path, FileSystem& files) { return read_idx(*files.open(path)); }

Tensor read_idx(FileReader& file) {
  Source source(file);
  TensorSpec spec = read_spec(source, file.path());
  check_size(spec, source.most_bytes(), file.path());
  Tensor tensor(spec.dtype, spec.shape);
  std::span memory(static_cast<std::byte*>(tensor.raw_mut()), tensor.bytes());
  source.read_exactly(memory, "values");
  if (!source.at_end())
    throw FileError(
        fmt::format("{}: holds more than the {} of its header", file.path(), to_string(spec)));
  swap_bytes(memory, size_of(spec.dtype));
  return tensor;
}

}  // namespace stoker
