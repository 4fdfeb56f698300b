// Checkpoints on disk: docs/formats/checkpoint.md. A checkpoint is a directory "ckpt-EPOCH-STEP",
// written under a temporary name and renamed when every byte of it is on the disk: it is there
// whole or not at all. What is read is verified against its manifest and not trusted. Errors are
// FileErrors that begin with the path.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "train/checkpoint/checkpoint.h"

namespace stoker {

std::string checkpoint_name(int64_t epoch, int64_t step);

// Returns its bytes. A directory of the same name, which can only be a damaged checkpoint, gets
// another name. `monitored`: what the choice of the best goes by.
uint64_t write_checkpoint(const std::string& directory, const Checkpoint& checkpoint,
                          std::optional<double> monitored, FileSystem& files = local_files());
Checkpoint read_checkpoint(const std::string& path, FileSystem& files = local_files());

// Whether every file of it is what its manifest says.
bool is_whole(const std::string& path, FileSystem& files = local_files());

struct FoundCheckpoint {
  std::string path = {};  // empty: there is none
  Checkpoint checkpoint = {};
  std::vector<std::string> damaged = {};  // newer ones that cannot be used, and why
};
// The newest that is whole. FileError when there are checkpoints and all are damaged: to begin anew
// is not what the user expects then.
FoundCheckpoint find_newest_checkpoint(const std::string& directory,
                                       FileSystem& files = local_files());

struct ListedCheckpoint {
  std::string name = {};
  int64_t epoch = 0, step = 0;
  std::optional<double> monitored = {};
};
// Those with a good manifest, the oldest first.
std::vector<ListedCheckpoint> list_checkpoints(const std::string& directory, FileSystem& files);

// Which checkpoints stay: as BackupOptions.
struct KeepRule {
  int64_t newest = 3;
  int64_t every_epochs = 0;
  bool best = false, maximise = false;
};
// The names of those that the rule does not keep.
std::vector<std::string> expendable(const std::vector<ListedCheckpoint>& checkpoints,
                                    const KeepRule& rule);

// They vanish at once, by a rename, before their files are removed.
void remove_checkpoints(const std::string& directory, const std::vector<std::string>& names,
                        FileSystem& files);
// For a full disk: removes the oldest that the rule keeps only for its age, else the oldest, and
// adds its name to `gone`. The newest, verified, stays; false when there is no other.
bool make_room(const std::string& directory, const KeepRule& rule, FileSystem& files,
               std::vector<std::string>& gone);
// What writers that were killed have left behind.
void remove_leftovers(const std::string& directory, FileSystem& files);

}  // namespace stoker
