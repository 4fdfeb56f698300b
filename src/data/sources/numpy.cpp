#include <stoker/numpy.h>

#include <fmt/format.h>

#include "base/file.h"
#include "base/printable.h"
#include "formats/npy.h"
#include "formats/zip.h"

namespace stoker {

namespace {

constexpr std::string_view kNpySuffix = ".npy";

std::string array_name(const std::string& entry) {
  bool suffixed = entry.ends_with(kNpySuffix);
  return entry.substr(0, entry.size() - (suffixed ? kNpySuffix.size() : 0));
}

Tensor read_entry(FileReader& file, const ZipEntry& entry) {
  ZipEntryReader reader(file, entry);
  uint64_t left = entry.bytes;
  Tensor tensor = read_npy({.name = fmt::format("{}: \"{}\"", file.path(), printable(entry.name)),
                            .most_bytes = entry.bytes,
                            .read = [&](std::span<std::byte> out) {
                              size_t got = reader.read(out);
                              left -= got;
                              return got;
                            }});
  if (left > 0)
    throw FileError(fmt::format("{}: \"{}\" holds {} bytes behind its array", file.path(),
                                printable(entry.name), left));
  return tensor;
}

// The header, and the values where they do not lie in the tensor as they are written.
struct NpyBytes {
  explicit NpyBytes(const Tensor& tensor) : header(npy_header(tensor)) {
    if (tensor.dtype() == DType::bytes) header += npy_texts(tensor);
    pieces.push_back(as_bytes(header));
    if (tensor.dtype() != DType::bytes)
      pieces.emplace_back(static_cast<const std::byte*>(tensor.raw()), tensor.bytes());
  }
  NpyBytes(const NpyBytes&) = delete;
  NpyBytes& operator=(const NpyBytes&) = delete;

  std::string header;
  std::vector<std::span<const std::byte>> pieces;
};

}  // namespace

Tensor load_npy(const std::string& path) { return read_npy(*local_files().open(path)); }

TensorMap load_npz(const std::string& path) {
  auto file = local_files().open(path);
  TensorMap arrays;
  for (const ZipEntry& entry : list_zip(*file))
    arrays[array_name(entry.name)] = read_entry(*file, entry);
  return arrays;
}

void save_npy(const std::string& path, const Tensor& tensor) {
  if (!tensor.defined()) throw ValueError("save_npy: the tensor is undefined");
  NpyBytes bytes(tensor);
  write_file_atomically(path, bytes.pieces);
}

void save_npz(const std::string& path, const TensorMap& tensors, const SaveNpzOptions& options) {
  std::vector<std::unique_ptr<NpyBytes>> arrays;
  ZipWriter zip;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined())
      throw ValueError(fmt::format("save_npz: tensor \"{}\" is undefined", name));
    if (name.empty() || name.size() > 0xFFFF - kNpySuffix.size())
      throw ValueError(fmt::format("save_npz: a name has {} bytes, expected 1 to {}", name.size(),
                                   0xFFFF - kNpySuffix.size()));
    arrays.push_back(std::make_unique<NpyBytes>(tensor));
    zip.add(name + std::string(kNpySuffix), arrays.back()->pieces, options.compressed);
  }
  write_file_atomically(path, zip.finish());
}

namespace data {

Dataset npy(const std::vector<std::string>& paths) {
  if (paths.empty()) throw ValueError("npy: no files were given");
  std::vector<Tensor> columns;
  for (const std::string& path : paths) columns.push_back(load_npy(path));
  return from_slices(std::move(columns));
}

Dataset npz(const std::string& path, const std::vector<std::string>& names) {
  auto file = local_files().open(path);
  std::vector<std::string> wanted = names, known;
  std::map<std::string, ZipEntry> entries;
  for (ZipEntry& entry : list_zip(*file)) entries[array_name(entry.name)] = std::move(entry);
  for (const auto& [name, entry] : entries) known.push_back(printable(name));
  if (wanted.empty())
    for (const auto& [name, entry] : entries) wanted.push_back(name);
  std::vector<Tensor> columns;
  for (const std::string& name : wanted) {
    auto found = entries.find(name);
    if (found == entries.end())
      throw ValueError(fmt::format("npz: {} holds no array \"{}\"; there are {}", path, name,
                                   fmt::join(known, ", ")));
    columns.push_back(read_entry(*file, found->second));
  }
  return from_slices(std::move(columns));
}

}  // namespace data

}  // namespace stoker
