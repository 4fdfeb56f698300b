// Event files of TensorBoard that grow beside the training: events are made and written on one
// thread of its own, behind a bounded queue. One thread may add.
//
// What the disk does not take is kept in memory and tried again by the next flush, in a new file:
// the end of the old one may be torn. TensorBoard shows the files of a folder as one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/thread_pool.h"
#include "formats/tfrecord.h"

namespace stoker {

class EventLog {
 public:
  // In `directory`, which is made by the first flush, a file of its own:
  // events.out.tfevents.TIME.HOST.PID.NUMBER.
  explicit EventLog(const std::string& directory, FileSystem& files = local_files());
  ~EventLog();  // what was added is in the file, or the disk would not take it
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  const std::string& path() const { return path_; }  // of the first file
  // `make` is called on the log's thread. Waits only when kQueued events wait before it.
  void add(std::function<std::string()> make);
  // Brings what was added into the file, soon; FileError when the flush() before could not.
  void flush();
  // Waits until everything is in the file; FileError when it cannot be written now.
  void finish();

  static constexpr size_t kQueued = 1024;
  static constexpr size_t kMostPending = size_t(64) << 20;  // bytes; older events are then dropped

 private:
  // Records, framed, that are not in a file yet.
  class Pending final : public FileWriter {
   public:
    void write(std::span<const std::byte> more) override {
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    void sync() override {}
    std::vector<std::byte> bytes;
  };

  // On the log's thread.
  void bring();
  void open();
  void give_up_file();

  std::string directory_, path_;
  FileSystem& files_;
  Pending pending_;
  TFRecordWriter records_{pending_};
  std::unique_ptr<FileWriter> file_;  // null: the next flush makes one
  std::string file_path_;
  bool holds_events_ = false;  // the open file
  int64_t files_made_ = 0;
  int64_t flushed_ = 0;  // when, on the steady clock
  std::optional<Future<void>> flushing_;
  std::unique_ptr<ThreadPool> pool_;  // last: its end is the first
};

double seconds_since_1970();
std::string host_name();  // "localhost" where it has none

}  // namespace stoker
