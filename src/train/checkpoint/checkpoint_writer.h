// Writes checkpoints beside the training, one at a time, and then removes those that need not be
// kept. On a full disk the oldest make room, up to the last one. Nothing that goes wrong there is
// thrown: it is reported. One caller; its destructor waits for what is being written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "train/checkpoint/checkpoint_files.h"

namespace stoker {

class CheckpointWriter {
 public:
  struct Written {
    std::string path = {};
    uint64_t bytes = 0;
    double seconds = 0;
    std::string error = {};                   // empty: it is there
    std::vector<std::string> made_room = {};  // checkpoints that went because the disk was full
  };

  CheckpointWriter(std::string directory, const KeepRule& rule, FileSystem& files);

  bool busy() const { return pending_ && !pending_->ready(); }
  // Only when not busy and the last outcome was taken.
  void begin(Checkpoint checkpoint, std::optional<double> monitored);
  // What became of the last one, once; nothing while it is being written. wait(): when it is done.
  std::optional<Written> poll();
  std::optional<Written> wait();

 private:
  Written write(const Checkpoint& checkpoint, std::optional<double> monitored);
  void prepare();
  uint64_t write_with_room(const Checkpoint& checkpoint, std::optional<double> monitored,
                           std::vector<std::string>& made_room);

  std::string directory_;
  KeepRule rule_;
  FileSystem& files_;
  bool prepared_ = false;  // the writer's own
  std::optional<Future<Written>> pending_;
  ThreadPool pool_;
};

}  // namespace stoker
