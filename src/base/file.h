// Files behind a seam that tests can make fail. Everything that goes wrong is a FileError that
// begins with the path and ends with the operating system's words. A FileSystem may be used from
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker {

class FolderLock;  // base/folder_lock.h
class MappedFile;  // base/mapped_file.h

// What the operating system says of a file. Two equal ones of one path mean the same bytes, unless
// the clock was set back.
struct FileStatus {
  uint64_t size = 0;
  int64_t modified_ns = 0;  // since 1970; 0: not known
  uint64_t inode = 0;       // 0: not known
  friend bool operator==(const FileStatus&, const FileStatus&) = default;
};

// An open file for reading.
class FileReader {
 public:
  explicit FileReader(std::string path) : path_(std::move(path)) {}
  virtual ~FileReader() = default;
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  const std::string& path() const { return path_; }
  virtual uint64_t size() const = 0;
  // Up to out.size() bytes from `offset`: possibly fewer, none only at the end. From any thread.
  virtual size_t read_at(uint64_t offset, std::span<std::byte> out) = 0;
  // All of it in memory, also after this is gone; nullptr where that cannot be, and read_at has to
  // do.
  virtual std::unique_ptr<MappedFile> map();

  // All of `out`, or a FileError that says where the file ended.
  void read_exactly(uint64_t offset, std::span<std::byte> out);
  // The next bytes of a walk from the beginning, as read_at. One thread at a time.
  size_t read(std::span<std::byte> out);

 private:
  std::string path_;
  uint64_t position_ = 0;
};

// An open file for writing. Closed, not synced, by its destructor; nothing is buffered here.
class FileWriter {
 public:
  virtual ~FileWriter() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;  // all of them
  virtual void sync() = 0;                                   // until they survive a power cut
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;  // also through a link
  friend bool operator==(const DirectoryEntry&, const DirectoryEntry&) = default;
};

// Where output for a path goes: behind every symbolic link, existing or not.
struct OutputPlace {
  std::string path;
  bool replaceable = true;  // a regular file, or nothing yet; false: a FIFO, a device, an open file
  bool exists = false;
};

class FileSystem {
 public:
  enum class Write { replace, append };

  virtual ~FileSystem() = default;
  // Regular files only: a FIFO, a device or a directory is a FileError at once.
  virtual std::unique_ptr<FileReader> open(const std::string& path) = 0;
  virtual std::unique_ptr<FileWriter> create(const std::string& path, Write mode) = 0;
  virtual bool exists(const std::string& path) = 0;
  virtual uint64_t size(const std::string& path) = 0;
  // Of a regular file; nothing where there is none. The default knows sizes only.
  virtual std::optional<FileStatus> status(const std::string& path);
  // Keeps a folder for one owner. Null: another has it, and `holder` says who. The default locks
  // nothing.
  virtual std::unique_ptr<FolderLock> lock(const std::string& folder, std::string& holder);
  virtual std::vector<DirectoryEntry> list(const std::string& directory) = 0;  // sorted by name
  virtual void create_directories(const std::string& path) = 0;
  virtual void rename(const std::string& from, const std::string& to) = 0;  // replaces `to`
  virtual void remove(
      const std::string& path) = 0;  // a file or an empty directory, which must exist
  virtual void remove_all(
      const std::string& path) = 0;  // with all it holds; links are not followed
  virtual void sync_directory(const std::string& path) = 0;  // names made and removed in it

  // FileError for a directory, for links in a circle and for a file that may not be written.
  virtual OutputPlace output_place(const std::string& path) { return {path}; }
  // Gives `to` the permissions and, where allowed, the owner of `from`.
  virtual void copy_attributes(const std::string& from, const std::string& to);
};

FileSystem& local_files();

std::span<const std::byte> as_bytes(std::string_view text);

std::vector<std::byte> read_file(const std::string& path, FileSystem& files = local_files());
std::string read_text(const std::string& path, FileSystem& files = local_files());

// Writes the pieces one after the other under a temporary name in the same directory, syncs,
// renames and syncs the directory: at any moment, also after a crash, `path` holds all of the old
// bytes or all of the new ones. On failure the temporary file is removed. Its name ends in
// kTemporarySuffix. A symbolic link stays, and its target is replaced; a replaced file passes on
// its permissions. Into what is no regular file (a FIFO, a device, /dev/fd/3) the bytes are
// written as they come.
inline constexpr std::string_view kTemporarySuffix = ".stoker-tmp";
enum class Durable : uint8_t { yes, no };  // no: not synced, so a power cut may lose both versions
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces,
                           FileSystem& files = local_files(), Durable durable = Durable::yes);
void write_file_atomically(const std::string& path, std::string_view text,
                           FileSystem& files = local_files(), Durable durable = Durable::yes);

// Whether the text of a FileError says that the disk, or the user's share of it, is full.
bool is_disk_full(std::string_view error);

}  // namespace stoker
