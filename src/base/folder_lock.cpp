#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/file.h"

namespace stoker {

namespace {

std::string words_of(int error) { return std::generic_category().message(error); }

std::string this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return fmt::format("process {} on {}, since {:%Y-%m-%d %H:%M:%S} UTC", ::getpid(),
                     host[0] == '\0' ? "an unknown host" : host.data(),
                     fmt::gmtime(std::time(nullptr)));
}

std::string read_holder(int descriptor) {
  std::array<char, 512> text{};
  ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
  std::string holder(text.data(), size_t(std::max<ssize_t>(count, 0)));
  holder = holder.substr(0, holder.find('\n'));
  return holder.empty() ? "another process" : holder;
}

// A holder removes the file before it lets go: a lock on what is no longer there is worth nothing.
bool is_there(int descriptor, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

int flock_retried(int descriptor) {
  int result = 0;
  do result = ::flock(descriptor, LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

}  // namespace

std::unique_ptr<FolderLock> FolderLock::try_lock(const std::string& folder, std::string& holder) {
  auto lock = std::make_unique<FolderLock>();
  lock->folder_ = folder;
  lock->path_ = folder + "/" + kLockName;
  lock->process_ = ::getpid();
  while (true) {
    if (!local_files().exists(folder)) {
      local_files().create_directories(folder);
      lock->made_folder_ = true;
    }
    int descriptor = ::open(lock->path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0 && (errno == EINTR || errno == ENOENT)) continue;  // removed in between
    if (descriptor < 0)
      throw FileError(fmt::format("{}: locking failed: {}", lock->path_, words_of(errno)));
    int error = flock_retried(descriptor);
    if (error == EWOULDBLOCK) {
      holder = read_holder(descriptor);
      ::close(descriptor);
      lock->made_folder_ = false;
      return nullptr;
    }
    if (error == 0 && !is_there(descriptor, lock->path_)) {
      ::close(descriptor);
      continue;
    }
    lock->descriptor_ = descriptor;
    if (error != 0) lock->unsupported_ = words_of(error);
    std::string text = this_process() + "\n";
    // Who it is is for messages only: a full disk is no reason to refuse.
    [[maybe_unused]] bool written =
        ::ftruncate(descriptor, 0) == 0 && ::pwrite(descriptor, text.data(), text.size(), 0) >= 0;
    return lock;
  }
}

bool FolderLock::is_own() const { return process_ == ::getpid(); }

FolderLock::~FolderLock() {
  if (descriptor_ < 0) return;
  if (is_own()) {
    ::unlink(path_.c_str());
    if (made_folder_) ::rmdir(folder_.c_str());  // only an empty one goes
  }
  ::close(descriptor_);
}

std::unique_ptr<FolderLock> lock_or_refuse(const std::string& folder, const std::string& advice,
                                           FileSystem& files) {
  std::string holder;
  std::unique_ptr<FolderLock> lock = files.lock(folder, holder);
  if (lock == nullptr)
    throw FolderInUse(fmt::format("{}: is in use by {}; {}", folder, holder, advice));
  return lock;
}

}  // namespace stoker
