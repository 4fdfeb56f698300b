// Keeps the folder of a run for one fit at a time.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "base/file.h"
#include "base/folder_lock.h"

namespace stoker {

// FolderInUse, which says who has it, when another fit or job is at work there. A job and the fit
// that it calls, on the same thread, share it. Null where the folder cannot be written: whoever
// writes there says so. A file system without locks gets a line on `out`, unless that is null.
std::shared_ptr<FolderLock> lock_run_folder(const std::string& folder, std::ostream* out,
                                            FileSystem& files = local_files());

}  // namespace stoker
