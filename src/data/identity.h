// What a chain computes and what it reads, as far as that can be known. By it a cache notices that
// it is out of date, and a training that goes on that its data is another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "data/node.h"

namespace stoker::data {

// The files that the sources of a chain read, as they were when they were added: one call of stat
// each, a second or two for a million.
class SourceFiles {
 public:
  void add(const std::string& path, FileSystem& files = local_files());
  // The same for a text that may name a file; others are passed over.
  void add_if_file(const std::string& text, FileSystem& files = local_files());

  int64_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }
  // "SIZE TIME INODE PATH" of each, hexadecimal, or "- PATH" where there is none; each ends with a
  // zero byte.
  const std::string& listing() const { return listing_; }
  // Of names, sizes and samples of the contents, so that it is the same for a copy: a line.
  std::string contents() const;

 private:
  void add(const std::string& path, const std::optional<FileStatus>& status, FileSystem& files);

  std::string listing_;
  int64_t count_ = 0;
  uint64_t bytes_ = 0;
  FileSystem* files_ = nullptr;  // the last one's; tests apart there is one
};

struct ChainIdentity {
  std::vector<std::string> steps = {};  // a line per node, sources first, and the elements' spec
  std::string code = {};                // the build of functions that no step describes
  std::string random_step = {};         // the first that draws by the seed; empty: none does
  SourceFiles files = {};
};
ChainIdentity identity_of(const Node& root);

// What changed between two listings: "3 files changed (first: photos/a.jpg), 1 file was added
// (photos/b.jpg)".
std::string changes(std::string_view before, std::string_view now);

// 64 well mixed bits of a text, as sixteen digits.
std::string hash_text(std::string_view text);

}  // namespace stoker::data
