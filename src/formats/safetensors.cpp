#include "formats/safetensors.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <stoker/safetensors.h>

#include "base/float64.h"
#include "base/memory_file.h"
#include "formats/crc32c.h"
#include "formats/safetensors_checksums.h"
#include "formats/safetensors_header.h"
#include "formats/sealed_json.h"

namespace stoker {

namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are copied as they lie in memory");

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000;  // the reference implementation's limit
constexpr int kMaxErrorText = 400;            // a name in a broken file can be megabytes long

// What other programs write weights into, by its first bytes; empty: something else.
std::string_view other_format(uint64_t first) {
  if ((first & 0xffffffff) == 0x04034b50)
    return "; it is a zip archive, such as .keras, .npz and PyTorch's files: "
           "scripts/keras_weights.py "
           "converts what Keras saved";
  if (first == 0x0a1a0a0d46444889)
    return "; it is an HDF5 file, such as Keras's .h5: scripts/keras_weights.py converts it";
  return "";
}

std::string read_header(FileReader& file) {
  if (file.size() < kLengthBytes)
    throw ValueError(fmt::format("expected {} bytes or more, got {}", kLengthBytes, file.size()));
  uint64_t length = 0;
  file.read_exactly(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxHeader || length > file.size() - kLengthBytes)
    throw ValueError(fmt::format("a header of {} bytes does not fit into a file of {} (limit {}){}",
                                 length, file.size(), kMaxHeader, other_format(length)));
  std::string text(size_t(length), ' ');
  file.read_exactly(kLengthBytes, std::as_writable_bytes(std::span(text)));
  return text;
}

Tensor read_float64(FileReader& file, uint64_t begin, const Shape& shape) {
  std::vector<double> values(size_t(shape.elements()));
  file.read_exactly(begin, std::as_writable_bytes(std::span(values)));
  return from_float64(values, shape, file.path());
}

Tensor read_tensor(FileReader& file, uint64_t data_begin, const SafetensorsEntry& entry) {
  if (entry.float64) return read_float64(file, data_begin + entry.begin, entry.spec.shape);
  Tensor tensor(entry.spec.dtype, entry.spec.shape);
  std::span memory(static_cast<std::byte*>(tensor.raw_mut()), tensor.bytes());
  file.read_exactly(data_begin + entry.begin, memory);
  auto is_no_bool = [](std::byte value) { return value > std::byte{1}; };
  if (entry.spec.dtype == DType::bool_ && std::ranges::any_of(memory, is_no_bool))
    throw ValueError(fmt::format("tensor \"{}\": a bool is neither 0 nor 1", entry.name));
  return tensor;
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.raw()), tensor.bytes()};
}

void check_tensor(const std::string& name, const Tensor& tensor, uint32_t expected) {
  uint32_t crc = crc32c(bytes_of(tensor));
  if (crc != expected)
    throw ValueError(
        fmt::format("tensor \"{}\" is damaged: the checksum of its bytes is {}, expected {}", name,
                    crc_to_hex(crc), crc_to_hex(expected)));
}

std::vector<uint32_t> checksums_of(const SafetensorsFile& file) {
  std::vector<uint32_t> crcs;
  for (const auto& [name, tensor] : file.tensors)
    // What has no bytes of its own is refused with the header.
    crcs.push_back(tensor.defined() && tensor.dtype() != DType::bytes ? crc32c(bytes_of(tensor))
                                                                      : 0);
  return crcs;
}

enum class Part : uint8_t { all, metadata };

SafetensorsFile read(FileReader& file, Part part = Part::all) {
  try {
    std::string text = read_header(file);
    uint64_t data_begin = kLengthBytes + text.size();
    bool header_checked = check_header(text);
    SafetensorsHeader header = parse_safetensors_header(text, file.size() - data_begin);
    auto checksums = take_checksums(header.metadata, header_checked, header.entries.size());
    SafetensorsFile result{.metadata = std::move(header.metadata),
                           .checksums = checksums.has_value()};
    if (part == Part::metadata) return result;
    for (const SafetensorsEntry& entry : header.entries) {
      Tensor tensor = read_tensor(file, data_begin, entry);
      if (checksums) check_tensor(entry.name, tensor, (*checksums)[result.tensors.size()]);
      result.tensors.emplace_back(entry.name, std::move(tensor));
    }
    return result;
  } catch (const ValueError& error) {
    throw FileError(fmt::format("{}: not a valid safetensors file: {:.{}}", file.path(),
                                error.what(), kMaxErrorText));
  }
}

}  // namespace

SafetensorsFile read_safetensors(const std::string& path, FileSystem& files) {
  return read(*files.open(path));
}

SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  MemoryFile file(name, bytes);
  return read(file);
}

std::vector<std::span<const std::byte>> safetensors_pieces(const SafetensorsFile& file,
                                                           std::string& head) {
  std::vector<uint32_t> checksums = file.checksums ? checksums_of(file) : std::vector<uint32_t>();
  std::string header =
      make_safetensors_header(file.tensors, file.metadata, file.checksums ? &checksums : nullptr);
  if (header.size() > kMaxHeader)
    throw ValueError(fmt::format("the names and metadata take {} bytes; a header has at most {}",
                                 header.size(), kMaxHeader));
  uint64_t length = header.size();
  head.assign(reinterpret_cast<const char*>(&length), sizeof(length));
  head += header;
  std::vector<std::span<const std::byte>> pieces = {as_bytes(head)};
  pieces.reserve(1 + file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) pieces.push_back(bytes_of(tensor));
  return pieces;
}

void write_safetensors(const std::string& path, const SafetensorsFile& file, FileSystem& files) {
  std::string head;
  write_file_atomically(path, safetensors_pieces(file, head), files);
}

void save_safetensors(const std::string& path, const TensorMap& tensors, const TextMap& metadata) {
  write_safetensors(path, {{tensors.begin(), tensors.end()}, metadata});
}

TensorMap load_safetensors(const std::string& path) {
  SafetensorsFile file = read_safetensors(path);
  return {std::make_move_iterator(file.tensors.begin()),
          std::make_move_iterator(file.tensors.end())};
}

TextMap load_safetensors_metadata(const std::string& path) {
  return read(*local_files().open(path), Part::metadata).metadata;
}

}  // namespace stoker
