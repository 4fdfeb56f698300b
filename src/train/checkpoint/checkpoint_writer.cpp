#include "train/checkpoint/checkpoint_writer.h"

#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/tracing.h"

namespace stoker {

CheckpointWriter::CheckpointWriter(std::string directory, const KeepRule& rule, FileSystem& files)
    : directory_(std::move(directory)),
      rule_(rule),
      files_(files),
      pool_({.threads = 1, .name = "checkpoints"}) {}

void CheckpointWriter::begin(Checkpoint checkpoint, std::optional<double> monitored) {
  pending_ = pool_.submit([this, checkpoint = std::move(checkpoint), monitored] {
    return write(checkpoint, monitored);
  });
}

std::optional<CheckpointWriter::Written> CheckpointWriter::poll() {
  if (!pending_ || !pending_->ready()) return std::nullopt;
  return wait();
}

std::optional<CheckpointWriter::Written> CheckpointWriter::wait() {
  if (!pending_) return std::nullopt;
  Written written = pending_->get();
  pending_.reset();
  return written;
}

// The directory, durable itself, without what killed writers have left.
void CheckpointWriter::prepare() {
  files_.create_directories(directory_);
  std::filesystem::path parent = std::filesystem::absolute(directory_).parent_path();
  files_.sync_directory(parent.string());
  remove_leftovers(directory_, files_);
  prepared_ = true;
}

uint64_t CheckpointWriter::write_with_room(const Checkpoint& checkpoint,
                                           std::optional<double> monitored,
                                           std::vector<std::string>& made_room) {
  while (true) {
    try {
      return write_checkpoint(directory_, checkpoint, monitored, files_);
    } catch (const FileError& error) {
      if (!is_disk_full(error.what()) || !make_room(directory_, rule_, files_, made_room)) throw;
    }
  }
}

CheckpointWriter::Written CheckpointWriter::write(const Checkpoint& checkpoint,
                                                  std::optional<double> monitored) {
  TraceScope scope("write a checkpoint");
  int64_t begin = steady_clock().now();
  Written written{.path = (std::filesystem::path(directory_) /
                           checkpoint_name(checkpoint.epoch, checkpoint.step))
                              .string()};
  try {
    if (!prepared_) prepare();
    written.bytes = write_with_room(checkpoint, monitored, written.made_room);
    remove_checkpoints(directory_, expendable(list_checkpoints(directory_, files_), rule_), files_);
  } catch (const std::exception& error) {
    written.error = error.what();
  }
  written.seconds = double(steady_clock().now() - begin) * 1e-9;
  return written;
}

}  // namespace stoker
