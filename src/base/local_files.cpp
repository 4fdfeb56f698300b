// The files of this host, through POSIX calls.
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/file.h"
#include "base/folder_lock.h"
#include "base/mapped_file.h"
#include "base/watched_range.h"

namespace stoker {

namespace {

[[noreturn]] void fail(const std::string& path, std::string_view attempt, int error = errno) {
  throw FileError(
      fmt::format("{}: {} failed: {}", path, attempt, std::generic_category().message(error)));
}

// Repeats a call that a signal interrupted.
template <class Call>
auto retried(Call call) {
  decltype(call()) result;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, std::string_view attempt)
      : number_(retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); })) {
    if (number_ < 0) fail(path, attempt);
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

struct stat status_of(const Descriptor& descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor.number(), &status) != 0) fail(path, "reading its size");
  return status;
}

const char* kind_of(mode_t mode) {
  return S_ISFIFO(mode)                   ? "a FIFO"
         : S_ISSOCK(mode)                 ? "a socket"
         : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                          : "something else";
}

class LocalMapping final : public MappedFile {
 public:
  LocalMapping(void* begin, size_t size, const std::string& path)
      : MappedFile({static_cast<const std::byte*>(begin), size}),
        begin_(begin),
        watched_(bytes(), path) {}
  ~LocalMapping() override {
    if (begin_ != nullptr) ::munmap(begin_, bytes().size());
  }

 private:
  void* begin_;
  WatchedRange watched_;
};

class LocalReader final : public FileReader {
 public:
  explicit LocalReader(const std::string& path)
      : FileReader(path), descriptor_(path, O_RDONLY | O_NONBLOCK, "opening") {
    struct stat status =
        status_of(descriptor_, path);  // O_NONBLOCK: a FIFO would wait for a writer
    if (S_ISDIR(status.st_mode)) fail(path, "opening", EISDIR);
    if (!S_ISREG(status.st_mode))
      throw FileError(fmt::format("{}: it is {}, expected a regular file; copy its bytes into one",
                                  path, kind_of(status.st_mode)));
    size_ = uint64_t(status.st_size);
  }

  uint64_t size() const override { return size_; }

  size_t read_at(uint64_t offset, std::span<std::byte> out) override {
    if (offset > uint64_t(INT64_MAX)) return 0;
    auto count = retried(
        [&] { return ::pread(descriptor_.number(), out.data(), out.size(), off_t(offset)); });
    if (count < 0) fail(path(), "reading");
    return size_t(count);
  }

  std::unique_ptr<MappedFile> map() override {
    if (size_ == 0) return std::make_unique<LocalMapping>(nullptr, 0, path());
    void* begin = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_.number(), 0);
    if (begin == MAP_FAILED) return nullptr;
    return std::make_unique<LocalMapping>(begin, size_, path());
  }

 private:
  Descriptor descriptor_;
  uint64_t size_ = 0;
};

class LocalWriter final : public FileWriter {
 public:
  LocalWriter(const std::string& path, FileSystem::Write mode)
      : path_(path), descriptor_(path, O_WRONLY | O_CREAT | flag(mode), "creating") {}

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      auto count =
          retried([&] { return ::write(descriptor_.number(), bytes.data(), bytes.size()); });
      if (count < 0) fail(path_, "writing");
      bytes = bytes.subspan(size_t(count));
    }
  }

  void sync() override {
    if (retried([&] { return ::fsync(descriptor_.number()); }) != 0) fail(path_, "syncing");
  }

 private:
  static int flag(FileSystem::Write mode) {
    return mode == FileSystem::Write::append ? O_APPEND : O_TRUNC;
  }

  std::string path_;
  Descriptor descriptor_;
};

// Where the link at `path` leads; empty: it is no link.
std::string link_target(const std::string& path) {
  std::error_code error;
  std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (error) return "";
  return (std::filesystem::path(path).parent_path() / target).string();
}

// The links of /proc lead to open files, whatever name they show.
bool is_open_file(const std::string& path) {
  struct statfs system {};
  std::string parent = std::filesystem::path(path).parent_path().string();
  return ::statfs(parent.empty() ? "." : parent.c_str(), &system) == 0 &&
         system.f_type == PROC_SUPER_MAGIC;
}

class LocalFiles final : public FileSystem {
 public:
  std::unique_ptr<FileReader> open(const std::string& path) override {
    return std::make_unique<LocalReader>(path);
  }

  std::unique_ptr<FileWriter> create(const std::string& path, Write mode) override {
    return std::make_unique<LocalWriter>(path, mode);
  }

  bool exists(const std::string& path) override {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) return true;
    if (errno != ENOENT && errno != ENOTDIR) fail(path, "looking for it");
    return false;
  }

  uint64_t size(const std::string& path) override {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) fail(path, "reading its size");
    return uint64_t(status.st_size);
  }

  std::optional<FileStatus> status(const std::string& path) override {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return FileStatus{.size = uint64_t(status.st_size),
                      .modified_ns = int64_t(status.st_mtim.tv_sec) * 1'000'000'000 +
                                     int64_t(status.st_mtim.tv_nsec),
                      .inode = uint64_t(status.st_ino)};
  }

  std::unique_ptr<FolderLock> lock(const std::string& folder, std::string& holder) override {
    return FolderLock::try_lock(folder, holder);
  }

  std::vector<DirectoryEntry> list(const std::string& directory) override {
    std::error_code error;
    std::vector<DirectoryEntry> entries;
    std::filesystem::directory_iterator entry(directory, error), end;
    while (!error && entry != end) {
      std::error_code broken_link;  // an entry that leads nowhere is not a directory
      entries.push_back({entry->path().filename().string(), entry->is_directory(broken_link)});
      entry.increment(error);
    }
    if (error) fail(directory, "listing", error.value());
    std::ranges::sort(entries, {}, &DirectoryEntry::name);
    return entries;
  }

  void create_directories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) fail(path, "creating the directory", error.value());
  }

  void rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) fail(to, fmt::format("renaming {} to it", from));
  }

  void remove(const std::string& path) override {
    if (::remove(path.c_str()) != 0) fail(path, "removing");
  }

  void remove_all(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) fail(path, "removing", error.value());
  }

  void sync_directory(const std::string& path) override {
    Descriptor directory(path, O_RDONLY | O_DIRECTORY, "opening");
    if (retried([&] { return ::fsync(directory.number()); }) != 0) fail(path, "syncing");
  }

  OutputPlace output_place(const std::string& path) override {
    constexpr int kMostLinks = 40;  // as Linux has it
    OutputPlace place{path};
    int links = 0;
    for (std::string next = link_target(path); !next.empty(); next = link_target(place.path)) {
      if (is_open_file(place.path)) return {.path = path, .replaceable = false, .exists = true};
      if (++links > kMostLinks) fail(path, "following its links", ELOOP);
      place.path = next;
    }
    struct stat status {};
    if (::stat(place.path.c_str(), &status) != 0) return place;  // creating it will say why
    if (S_ISDIR(status.st_mode)) fail(path, "writing", EISDIR);
    place.exists = true;
    place.replaceable = S_ISREG(status.st_mode);
    if (::faccessat(AT_FDCWD, place.path.c_str(), W_OK, AT_EACCESS) != 0) fail(path, "writing");
    return place;
  }

  // What the file system or the user's rights do not allow is left as it is.
  void copy_attributes(const std::string& from, const std::string& to) override {
    struct stat status {
    }, own{};
    if (::stat(from.c_str(), &status) != 0 || ::stat(to.c_str(), &own) != 0) return;
    bool same_owner = (status.st_uid == own.st_uid && status.st_gid == own.st_gid) ||
                      ::chown(to.c_str(), status.st_uid, status.st_gid) == 0;
    // Without the owner, set-user-ID bits would give rights away.
    [[maybe_unused]] int failed = ::chmod(to.c_str(), status.st_mode & (same_owner ? 07777 : 0777));
  }
};

}  // namespace

FileSystem& local_files() {
  static LocalFiles files;
  return files;
}

}  // namespace stoker
