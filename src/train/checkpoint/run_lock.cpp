#include "train/checkpoint/run_lock.h"

#include <ostream>

#include <fmt/format.h>

namespace stoker {

namespace {

std::shared_ptr<FolderLock> fresh_lock(const std::string& folder, FileSystem& files) {
  try {
    return lock_or_refuse(folder, "wait until it ends, or choose another folder for this run",
                          files);
  } catch (const FolderInUse&) {
    throw;
  } catch (const FileError&) {
    return nullptr;
  }
}

}  // namespace

std::shared_ptr<FolderLock> RunLocks::lock(const std::string& folder, std::ostream* out,
                                           FileSystem& files) {
  std::erase_if(held_, [](const Held& each) { return each.lock.expired(); });
  std::error_code ignored;
  // Absolute first: of a relative path that is not there yet, the canonical one is relative too.
  std::filesystem::path path =
      std::filesystem::weakly_canonical(std::filesystem::absolute(folder, ignored), ignored);
  for (const Held& each : held_)
    if (auto lock = each.lock.lock(); lock && lock->is_own() && each.folder == path) return lock;
  std::shared_ptr<FolderLock> lock = fresh_lock(folder, files);
  if (!lock) return nullptr;
  if (!lock->unsupported().empty() && out != nullptr)
    *out << fmt::format("{}: cannot be locked ({}); make sure that no other run uses it\n", folder,
                        lock->unsupported())
         << std::flush;
  held_.push_back({std::move(path), lock});
  return lock;
}

}  // namespace stoker
