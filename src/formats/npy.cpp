#include "formats/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "base/float64.h"
#include "base/utf8.h"
#include "formats/npy_header.h"

namespace stoker {

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr uint64_t kLongestHeader = 1 << 20;
using Bytes = std::vector<std::byte>;

void read_all(const NpySource& source, std::span<std::byte> out, const char* what) {
  size_t got = source.read(out);
  if (got < out.size())
    throw FileError(fmt::format("{}: ends inside its {}: expected {} bytes, got {}", source.name,
                                what, out.size(), got));
}

// Behind the magic and the version: the length of the header in 2 or 4 bytes, and the header.
NpyHeader read_header(const NpySource& source, uint64_t& used) {
  std::array<std::byte, 8> begin{};
  read_all(source, begin, "header");
  if (std::memcmp(begin.data(), kNpyMagic.data(), kNpyMagic.size()) != 0)
    throw FileError(source.name + ": is no .npy array: it does not begin with \\x93NUMPY");
  auto version = int(begin[6]);
  if (version < 1 || version > 3)
    throw FileError(fmt::format("{}: is .npy version {}.{}; versions 1 to 3 are read", source.name,
                                version, int(begin[7])));
  std::array<std::byte, 4> length{};
  read_all(source, std::span(length).first(version == 1 ? 2 : 4), "header");
  uint64_t bytes = 0;
  for (size_t i = 0; i < length.size(); ++i) bytes |= uint64_t(length[i]) << (8 * i);
  if (bytes > std::min(kLongestHeader, source.most_bytes))
    throw FileError(fmt::format("{}: its header is said to have {} bytes", source.name, bytes));
  std::string text(size_t(bytes), '\0');
  read_all(source, std::as_writable_bytes(std::span(text)), "header");
  used = 8 + (version == 1 ? 2 : 4) + bytes;
  return parse_npy_header(text, source.name);
}

// How many values; FileError when the source cannot hold them.
uint64_t count_values(const NpyHeader& header, const NpySource& source, uint64_t used) {
  uint64_t count = 1, bytes = 0;
  bool fits = true;
  for (int64_t extent : header.shape)
    fits = fits && !__builtin_mul_overflow(count, uint64_t(extent), &count);
  fits = fits && count <= uint64_t(INT64_MAX) &&
         !__builtin_mul_overflow(count, std::max<uint64_t>(header.bytes, 1), &bytes) &&
         bytes <= source.most_bytes - std::min(used, source.most_bytes);
  if (!fits)
    throw FileError(fmt::format("{}: is too short for an array of shape ({})", source.name,
                                fmt::join(header.shape, ", ")));
  return count;
}

// From column-major to row-major.
void to_row_major(const NpyHeader& header, Bytes& values) {
  size_t rank = header.shape.size(), size = size_t(header.bytes);
  Bytes ordered(values.size());
  std::vector<uint64_t> strides(rank, 1), at(rank, 0);
  for (size_t axis = 1; axis < rank; ++axis)
    strides[axis] = strides[axis - 1] * uint64_t(header.shape[axis - 1]);
  uint64_t from = 0;
  for (size_t to = 0; to < ordered.size(); to += size) {
    std::memcpy(ordered.data() + to, values.data() + from * size, size);
    for (size_t axis = rank; axis-- > 0;) {
      from += strides[axis];
      if (++at[axis] < uint64_t(header.shape[axis])) break;
      from -= strides[axis] * at[axis];
      at[axis] = 0;
    }
  }
  values = std::move(ordered);
}

void to_this_machine(const NpyHeader& header, std::span<std::byte> values) {
  bool big = std::endian::native == std::endian::big;
  size_t word = header.kind == 'U' ? 4 : header.kind == 'S' ? 1 : size_t(header.bytes);
  if (word == 1 || header.big_endian == big) return;
  for (size_t at = 0; at + word <= values.size(); at += word)
    std::ranges::reverse(values.subspan(at, word));
}

template <class From>
std::span<const From> as(const Bytes& values) {
  return {reinterpret_cast<const From*>(values.data()), values.size() / sizeof(From)};
}

template <class To, class From>
Tensor widened(const Bytes& values, const Shape& shape, const std::string& name) {
  Tensor tensor(dtype_of<To>, shape);
  To* to = tensor.data_mut<To>();
  for (From value : as<From>(values)) {
    if (uint64_t(value) > uint64_t(std::numeric_limits<To>::max()))
      throw FileError(fmt::format("{}: holds {}, which int64 cannot hold", name, value));
    *to++ = To(value);
  }
  return tensor;
}

void append_utf8(uint32_t code, const std::string& name, std::string& out) {
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
    throw FileError(fmt::format("{}: holds U+{:X}, which is no character", name, code));
  if (code < 0x80) {
    out += char(code);
  } else if (code < 0x800) {
    out += {char(0xC0 | code >> 6), char(0x80 | (code & 0x3F))};
  } else if (code < 0x10000) {
    out += {char(0xE0 | code >> 12), char(0x80 | (code >> 6 & 0x3F)), char(0x80 | (code & 0x3F))};
  } else {
    out += {char(0xF0 | code >> 18), char(0x80 | (code >> 12 & 0x3F)),
            char(0x80 | (code >> 6 & 0x3F)), char(0x80 | (code & 0x3F))};
  }
}

// Texts of one length, of which zeros at the end are no part.
Tensor texts(const NpyHeader& header, const Bytes& values, const Shape& shape,
             const std::string& name) {
  Tensor tensor(DType::bytes, shape);
  if (tensor.elements() == 0) return tensor;
  size_t size = size_t(header.bytes);
  for (size_t i = 0; i < size_t(tensor.elements()); ++i) {
    std::string& text = tensor.data_mut<std::string>()[i];
    if (header.kind == 'S') {
      text.assign(reinterpret_cast<const char*>(values.data()) + i * size, size);
    } else {
      for (size_t at = 0; at < size; at += 4) {
        uint32_t code = 0;
        std::memcpy(&code, values.data() + i * size + at, 4);
        append_utf8(code, name, text);
      }
    }
    text.resize(text.find_last_not_of('\0') + 1);
  }
  return tensor;
}

// None: the values are converted.
std::optional<DType> same_dtype(const NpyHeader& header) {
  switch (header.kind) {
    case 'b':
      return DType::bool_;
    case 'i':
      return header.bytes == 1   ? DType::int8
             : header.bytes == 2 ? DType::int16
             : header.bytes == 4 ? DType::int32
                                 : DType::int64;
    case 'u':
      return header.bytes == 1 ? std::optional(DType::uint8) : std::nullopt;
    case 'f':
      return header.bytes == 2   ? std::optional(DType::float16)
             : header.bytes == 4 ? std::optional(DType::float32)
                                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

Tensor converted(const NpyHeader& header, const Bytes& values, const Shape& shape,
                 const std::string& name) {
  if (header.kind == 'S' || header.kind == 'U') return texts(header, values, shape, name);
  if (header.kind == 'f') {
    std::vector<double> wide(values.size() / sizeof(double));
    if (!wide.empty()) std::memcpy(wide.data(), values.data(), values.size());
    return from_float64(wide, shape, name);
  }
  if (header.bytes == 2) return widened<int32_t, uint16_t>(values, shape, name);
  if (header.bytes == 4) return widened<int64_t, uint32_t>(values, shape, name);
  return widened<int64_t, uint64_t>(values, shape, name);
}

}  // namespace

Tensor read_npy(const NpySource& source) {
  uint64_t used = 0;
  NpyHeader header = read_header(source, used);
  uint64_t count = count_values(header, source, used);
  Shape shape(std::span<const int64_t>(header.shape));
  std::optional<DType> dtype = same_dtype(header);
  bool in_order = !header.fortran_order || header.shape.size() < 2;
  if (dtype && in_order) {
    Tensor tensor(*dtype, shape);
    std::span<std::byte> memory(static_cast<std::byte*>(tensor.raw_mut()), tensor.bytes());
    read_all(source, memory, "values");
    to_this_machine(header, memory);
    if (*dtype == DType::bool_)
      for (std::byte& flag : memory) flag = flag == std::byte{0} ? flag : std::byte{1};
    return tensor;
  }
  Bytes values(size_t(count * header.bytes));
  read_all(source, values, "values");
  if (!in_order) to_row_major(header, values);
  to_this_machine(header, values);
  if (!dtype) return converted(header, values, shape, source.name);
  Tensor tensor(*dtype, shape);
  if (!values.empty()) std::memcpy(tensor.raw_mut(), values.data(), values.size());
  if (*dtype == DType::bool_)
    for (int64_t i = 0; i < tensor.elements(); ++i)
      static_cast<uint8_t*>(tensor.raw_mut())[i] = values[size_t(i)] == std::byte{0} ? 0 : 1;
  return tensor;
}

Tensor read_npy(FileReader& file) {
  uint64_t offset = 0;
  auto read = [&](std::span<std::byte> out) {
    size_t done = 0;
    while (done < out.size()) {
      size_t got = file.read_at(offset, out.subspan(done));
      if (got == 0) break;
      done += got, offset += got;
    }
    return done;
  };
  Tensor tensor = read_npy({file.path(), file.size(), read});
  if (offset != file.size())
    throw FileError(
        fmt::format("{}: holds {} bytes behind its array", file.path(), file.size() - offset));
  return tensor;
}

std::string npy_header(const Tensor& tensor) {
  static constexpr std::pair<DType, const char*> kDescr[] = {
      {DType::float32, "f4"}, {DType::float16, "f2"}, {DType::int8, "i1"},  {DType::int16, "i2"},
      {DType::int32, "i4"},   {DType::int64, "i8"},   {DType::uint8, "u1"}, {DType::bool_, "b1"}};
  std::string descr;
  for (const auto& [dtype, text] : kDescr)
    if (dtype == tensor.dtype()) descr = text;
  char order = std::endian::native == std::endian::big ? '>' : '<';
  if (!descr.empty()) descr = (size_of(tensor.dtype()) == 1 ? '|' : order) + descr;
  if (tensor.dtype() == DType::bytes) {
    size_t longest = 1;
    for (const std::string& text : tensor.values<std::string>())
      longest = std::max(longest, text.size());
    descr = fmt::format("|S{}", longest);
  }
  if (descr.empty())
    throw ValueError("NumPy has no bfloat16: cast the tensor to float32 before it is saved");
  std::string shape;
  for (int64_t extent : tensor.shape()) shape += fmt::format("{}, ", extent);
  if (tensor.shape().rank() > 1) shape.resize(shape.size() - 2);
  if (tensor.shape().rank() == 1) shape.pop_back();
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  size_t unpadded = kNpyMagic.size() + 4 + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ');
  text += '\n';
  std::string header(kNpyMagic);
  header += {char(1), char(0), char(text.size() & 0xFF), char(text.size() >> 8)};
  return header + text;
}

std::string npy_texts(const Tensor& tensor) {
  size_t longest = 1;
  for (const std::string& text : tensor.values<std::string>())
    longest = std::max(longest, text.size());
  std::string all;
  for (const std::string& text : tensor.values<std::string>()) {
    if (text.ends_with('\0'))
      throw ValueError("a text ends with a zero byte, which an array of NumPy would lose");
    all += text;
    all.append(longest - text.size(), '\0');
  }
  return all;
}

}  // namespace stoker
