#include "formats/idx.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/float64.h"
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

constexpr int kIdxFloat64 = 0x0E;  // converted to float32

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
    case kIdxFloat64:
      return DType::float32;
    default:
      return std::nullopt;
  }
}

struct IdxHeader {
  TensorSpec spec;
  size_t element_bytes;  // in the file
};

IdxHeader read_idx_header(Source& source, const std::string& path) {
  std::array<std::byte, 4> magic{};
  source.read_exactly(magic, "header");
  auto dtype = dtype_of_code(magic[2]);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0} || !dtype)
    throw FileError(fmt::format(
        "{}: not an IDX file of uint8, int8, int16, int32, float32 or float64: it begins "
        "with {:02x} {:02x} {:02x}",
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
  bool float64 = int(magic[2]) == kIdxFloat64;
  return {{*dtype, Shape(std::span(dims).first(rank))}, float64 ? 8 : size_of(*dtype)};
}

// Before memory is taken: can the file hold what its header says?
void check_size(const IdxHeader& header, uint64_t most_bytes, const std::string& path) {
  const TensorSpec& spec = header.spec;
  uint64_t bytes = 0;
  bool fits = false;
  try {
    fits = !__builtin_mul_overflow(uint64_t(spec.shape.elements()), header.element_bytes, &bytes) &&
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
  IdxHeader header = read_idx_header(source, file.path());
  const TensorSpec& spec = header.spec;
  check_size(header, source.most_bytes(), file.path());
  auto read = [&](std::span<std::byte> memory) {
    source.read_exactly(memory, "values");
    if (!source.at_end())
      throw FileError(
          fmt::format("{}: holds more than the {} of its header", file.path(), to_string(spec)));
    swap_bytes(memory, header.element_bytes);
  };
  if (header.element_bytes == sizeof(double)) {
    std::vector<double> values(size_t(spec.shape.elements()));
    read(std::as_writable_bytes(std::span(values)));
    return from_float64(values, spec.shape, file.path());
  }
  Tensor tensor(spec.dtype, spec.shape);
  read({static_cast<std::byte*>(tensor.raw_mut()), tensor.bytes()});
  return tensor;
}

}  // namespace stoker
