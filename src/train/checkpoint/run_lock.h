// Keeps the folders of a run for one fit at a time.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/folder_lock.h"

namespace stoker {

// The locks of one run: a job makes it and hands it to its fit, which shares the folders.
class RunLocks {
 public:
  // Throws FolderInUse, which names the owner, if another run uses the folder. The lock of a folder
  // that this run holds already is shared. Null if the folder cannot be written: the first write
  // reports that. A file system without locks gets a line on `out`, unless that is null.
  std::shared_ptr<FolderLock> lock(const std::string& folder, std::ostream* out,
                                   FileSystem& files = local_files());

 private:
  struct Held {
    std::filesystem::path folder;
    std::weak_ptr<FolderLock> lock;
  };
  std::vector<Held> held_;
};

}  // namespace stoker
