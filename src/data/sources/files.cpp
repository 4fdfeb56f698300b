#include "data/sources/files.h"

#include <fnmatch.h>

#include <algorithm>

#include <fmt/format.h>

namespace stoker::data {

namespace {

bool is_pattern(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

std::string join(const std::string& folder, const std::string& name) {
  if (folder.empty()) return name;
  return folder.back() == '/' ? folder + name : folder + "/" + name;
}

std::vector<std::string> parts_of(const std::string& pattern) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= pattern.size();) {
    size_t end = std::min(pattern.find('/', begin), pattern.size());
    if (end > begin) parts.push_back(pattern.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void match(const std::string& folder, std::span<const std::string> parts, FileSystem& files,
           std::vector<std::string>& found) {
  const std::string& part = parts[0];
  bool last = parts.size() == 1;
  if (!is_pattern(part)) {
    std::string path = join(folder, part);
    if (!files.exists(path)) return;
    if (last)
      found.push_back(path);
    else
      match(path, parts.subspan(1), files, found);
    return;
  }
  bool any_depth = part == "**";
  if (any_depth && !last) match(folder, parts.subspan(1), files, found);
  for (const DirectoryEntry& entry : files.list(folder.empty() ? "." : folder)) {
    if (entry.name[0] == '.' && part[0] != '.') continue;
    std::string path = join(folder, entry.name);
    if (any_depth) {
      if (entry.is_directory) match(path, parts, files, found);
      if (last && !entry.is_directory) found.push_back(path);
    } else if (fnmatch(part.c_str(), entry.name.c_str(), 0) == 0) {
      if (last && !entry.is_directory) found.push_back(path);
      if (!last && entry.is_directory) match(path, parts.subspan(1), files, found);
    }
  }
}

class ReadFile final : public ElementFunction {
 public:
  explicit ReadFile(FileSystem& files) : files_(files) {}
  std::string name() const override { return "read_file"; }
  std::string identity() const override { return name(); }
  ElementSpec infer(const ElementSpec& in) const override {
    if (in.empty() || !(in[0] == TensorSpec{DType::bytes, {}}))
      throw ShapeError(fmt::format("read_file takes a path, bytes[], first, but elements are {}",
                                   to_string(in)));
    return in;
  }
  void apply(std::span<const ConstTensorView> in, ElementWriter& out, Rng&) const override {
    auto* contents = static_cast<std::string*>(out.put(0, DType::bytes, {}));
    read_whole(*static_cast<const std::string*>(in[0].data), *contents, files_);
    for (size_t i = 1; i < in.size(); ++i) out.copy(i, in[i]);
  }

 private:
  FileSystem& files_;
};

}  // namespace

std::vector<std::string> glob(const std::string& pattern, FileSystem& files) {
  std::vector<std::string> parts = parts_of(pattern), found;
  if (parts.empty()) throw ValueError("files: the pattern is empty");
  match(pattern[0] == '/' ? "/" : "", parts, files, found);
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> matching_files(const std::string& op,
                                        const std::vector<std::string>& paths, FileSystem& files) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    if (path.find_first_of("*?[") == std::string::npos || files.exists(path)) {
      all.push_back(path);
      continue;
    }
    std::vector<std::string> found = glob(path, files);
    if (found.empty()) throw FileError(path + ": no file matches");
    all.insert(all.end(), found.begin(), found.end());
  }
  if (all.empty()) throw ValueError(op + ": no files were given");
  return all;
}

void read_whole(const std::string& path, std::string& out, FileSystem& files) {
  std::unique_ptr<FileReader> file = files.open(path);
  uint64_t size = file->size();
  if (size > out.max_size()) throw FileError(path + ": too large to be read at once");
  out.resize(size_t(size));
  file->read_exactly(0, std::as_writable_bytes(std::span(out)));
}

FunctionRef read_file(FileSystem& files) { return std::make_shared<ReadFile>(files); }
FunctionRef read_file() { return read_file(local_files()); }

Dataset files(const std::string& pattern) {
  std::vector<std::string> paths = glob(pattern, local_files());
  if (paths.empty()) throw FileError(pattern + ": no file matches");
  return from_slices(Tensor::from(paths, {int64_t(paths.size())}));
}

}  // namespace stoker::data
