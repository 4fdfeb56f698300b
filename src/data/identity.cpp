#include "data/identity.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <typeinfo>

#include <fmt/format.h>

#include "base/code_identity.h"
#include "data/runtime/making.h"
#include "formats/crc32c.h"

namespace stoker::data {

namespace {

constexpr size_t kSamples = 64;          // of the files, whose contents are looked at
constexpr uint64_t kSampleBytes = 4096;  // at the beginning, in the middle and at the end
constexpr size_t kLongestPath = 4096;

uint64_t hash_of(std::string_view text) {
  uint64_t hash = mixed(0x5EED, text.size());
  for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof(word), text.size() - at));
    hash = mixed(hash, word);
  }
  return hash;
}

// The entries of a listing, one after the other.
struct Entry {
  std::string_view status, path;
};
template <class Visit>
void each_entry(std::string_view listing, Visit&& visit) {
  while (!listing.empty()) {
    std::string_view line = listing.substr(0, listing.find('\0'));
    listing.remove_prefix(std::min(line.size() + 1, listing.size()));
    size_t words = line.starts_with('-') ? 1 : 3, end = 0;
    for (size_t word = 0; word < words && end != std::string_view::npos; ++word)
      end = line.find(' ', word == 0 ? 0 : end + 1);
    if (end == std::string_view::npos) return;
    visit(Entry{line.substr(0, end), line.substr(end + 1)});
  }
}

std::string_view size_in(const Entry& entry) {
  return entry.status.substr(0, entry.status.find(' '));
}

// A checksum of some pages; a file that cannot be read counts as empty.
uint32_t sample(const std::string& path, FileSystem& files) {
  try {
    auto file = files.open(path);
    uint64_t size = file->size(), bytes = std::min(size, kSampleBytes);
    std::vector<std::byte> page;
    page.resize(size_t(bytes));
    uint32_t crc = 0;
    for (uint64_t offset : {uint64_t(0), (size - bytes) / 2, size - bytes}) {
      file->read_exactly(offset, page);
      crc = crc32c(page, crc);
    }
    return crc;
  } catch (const FileError&) {
    return 0;
  }
}

void collect(const Node& node, ChainIdentity& identity) {
  for (const NodeRef& input : node.inputs()) collect(*input, identity);
  node.add_sources(identity.files);
  if (const std::type_info* code = node.unknown_code())
    identity.code += fmt::format("{}{} {}", identity.code.empty() ? "" : "; ", code->name(),
                                 code_identity(code));
  if (identity.random_step.empty() && node.draws_at_random()) identity.random_step = title(node);
  std::string recipe = node.recipe();
  if (!node.transparent() || !recipe.empty())
    identity.steps.push_back(fmt::format("{}({})", node.kind(), recipe));
}

std::string counted(int64_t count, std::string_view first, const char* what) {
  if (count == 1) return fmt::format("1 file {} ({})", what, first);
  return fmt::format("{} files {} (first: {})", count, what, first);
}

}  // namespace

void SourceFiles::add(const std::string& path, FileSystem& files) {
  add(path, files.status(path), files);
}

void SourceFiles::add_if_file(const std::string& text, FileSystem& files) {
  if (text.empty() || text.size() > kLongestPath || text.find('\0') != std::string::npos) return;
  if (auto status = files.status(text)) add(text, status, files);
}

void SourceFiles::add(const std::string& path, const std::optional<FileStatus>& status,
                      FileSystem& files) {
  if (status)
    fmt::format_to(std::back_inserter(listing_), "{:x} {:x} {:x} ", status->size,
                   status->modified_ns, status->inode);
  else
    listing_ += "- ";
  listing_ += path;
  listing_ += '\0';
  ++count_;
  bytes_ += status ? status->size : 0;
  files_ = &files;
}

std::string SourceFiles::contents() const {
  if (count_ == 0) return {};
  uint64_t hash = 0;
  size_t at = 0, period = std::max<size_t>(size_t(count_) / kSamples, 1);
  each_entry(listing_, [&](const Entry& entry) {
    hash = mixed(hash, mixed(hash_of(entry.path), hash_of(size_in(entry))));
    if (at++ % period == 0) hash = mixed(hash, sample(std::string(entry.path), *files_));
  });
  return fmt::format("{} files of {} bytes, fingerprint {:016x}", count_, bytes_, hash);
}

ChainIdentity identity_of(const Node& root) {
  ChainIdentity identity;
  collect(root, identity);
  identity.steps.push_back("elements " + to_string(root.spec()));
  return identity;
}

std::string changes(std::string_view before, std::string_view now) {
  std::map<std::string_view, std::string_view> known;
  each_entry(before, [&](const Entry& entry) { known[entry.path] = entry.status; });
  int64_t changed = 0, added = 0;
  std::string_view first_changed, first_added;
  each_entry(now, [&](const Entry& entry) {
    auto found = known.find(entry.path);
    if (found == known.end()) {
      if (added++ == 0) first_added = entry.path;
    } else {
      if (found->second != entry.status && changed++ == 0) first_changed = entry.path;
      known.erase(found);
    }
  });
  std::vector<std::string> parts;
  if (changed > 0) parts.push_back(counted(changed, first_changed, "changed"));
  if (added > 0) parts.push_back(counted(added, first_added, "added"));
  if (!known.empty())
    parts.push_back(counted(int64_t(known.size()), known.begin()->first, "removed"));
  return parts.empty() ? "the files are listed in another order"
                       : fmt::format("{}", fmt::join(parts, ", "));
}

std::string hash_text(std::string_view text) { return fmt::format("{:016x}", hash_of(text)); }

}  // namespace stoker::data
