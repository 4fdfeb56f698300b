// The shards of one cache: written by whoever has the lock, read once they are complete. All
// methods may be called from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "data/ops/cache_identity.h"
#include "data/runtime/notices.h"
#include "formats/shards.h"

namespace stoker::data {

// The reader that threads share. Not std::atomic<std::shared_ptr>: GCC 12's load() gives its lock
// back without release semantics.
class SharedReader {
 public:
  std::shared_ptr<const ShardReader> load() const {
    std::lock_guard lock(mutex_);
    return reader_;
  }
  void store(std::shared_ptr<const ShardReader> reader) {
    std::lock_guard lock(mutex_);
    reader_.swap(reader);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ShardReader> reader_;
};

class CacheFile {
 public:
  // Opens what is there. What does not fit is rebuilt, with a notice when that begins; a folder
  // that holds other things is a FileError.
  CacheFile(std::string path, ElementSpec spec, CacheIdentity identity);

  size_t components() const { return spec_.size(); }
  // Null: not complete.
  std::shared_ptr<const ShardReader> reader() const { return reader_.load(); }
  // The same; looks when an epoch begins.
  std::shared_ptr<const ShardReader> reader(int64_t epoch, Notices& notices);
  // While another process writes it: whether that has completed it, or is gone.
  void look(Notices& notices);
  // A record of it could not be read: it is rebuilt.
  void drop(const std::shared_ptr<const ShardReader>& reader, const std::string& why,
            Notices& notices);

  // Adds an element; with the last of `length` the cache is complete. Known ones are ignored, and
  // all of them where it cannot be written now.
  void add(int64_t index, std::span<const ConstTensorView> element, int64_t number, int64_t length,
           Notices& notices);
  // For streams, whose length is known at their end: only the walk that began last writes.
  int64_t restart();
  void add_next(int64_t walk, std::span<const ConstTensorView> element, int64_t number,
                Notices& notices);
  void finish(int64_t walk, Notices& notices);

 private:
  // What is there, if it fits; `why`: else, unless nothing is.
  std::shared_ptr<const ShardReader> open(std::string& why) const;
  bool start(int64_t length, Notices& notices);
  void write(int64_t index, std::span<const ConstTensorView> element, int64_t number,
             Notices& notices);
  void complete(Notices& notices);
  void give_up(const std::string& why, Notices& notices);

  const std::string path_;
  const ElementSpec spec_;
  const CacheIdentity identity_;
  SharedReader reader_;
  std::atomic<bool> idle_ = false;    // not written in this epoch: another does, or it failed
  std::atomic<int64_t> looked_ = -1;  // the last epoch in which reader() looked
  std::mutex mutex_;
  std::string outdated_;  // why what was found does not fit, until that was said
  bool failed_ = false, busy_said_ = false;
  std::unique_ptr<ShardWriter> writer_;
  std::vector<bool> written_;
  int64_t count_ = 0, walk_ = 0;
};

}  // namespace stoker::data
