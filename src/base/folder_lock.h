// Keeps a folder for one owner: a file in it that is locked (flock) while this lives. Others, in
// this process and in all others, are refused. The lock ends with its process however that ends;
// the file is removed with the lock.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include <stoker/error.h>

namespace stoker {

class FileSystem;

inline constexpr const char* kLockName = ".lock";

// The folder is another's; the text says whose.
class FolderInUse : public FileError {
 public:
  using FileError::FileError;
};

class FolderLock {
 public:
  // Makes the folder if need be. Null: another has it, and `holder` says who ("process 12 on
  // node-7, since 2026-11-16 09:30:00 UTC"). FileError when its file cannot be made.
  static std::unique_ptr<FolderLock> try_lock(const std::string& folder, std::string& holder);

  FolderLock() = default;  // locks nothing
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Why nothing is locked: a file system without locks. Empty: it is locked.
  const std::string& unsupported() const { return unsupported_; }
  // Whether this process took it; a child of fork() did not.
  bool is_own() const;

 private:
  std::string folder_, path_, unsupported_;
  int descriptor_ = -1;
  pid_t process_ = 0;
  bool made_folder_ = false;
};

// Throws FolderInUse: "FOLDER: is in use by HOLDER; ADVICE".
std::unique_ptr<FolderLock> lock_or_refuse(const std::string& folder, const std::string& advice,
                                           FileSystem& files);

}  // namespace stoker
