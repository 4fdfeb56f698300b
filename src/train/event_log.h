// An event file of TensorBoard that grows beside the training: events are made and written on one
// thread of its own, behind a bounded queue. One thread may add.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/thread_pool.h"
#include "formats/tfrecord.h"

namespace stoker {

class EventLog {
 public:
  // Makes `directory` and in it a file of its own: events.out.tfevents.TIME.HOST.PID.NUMBER.
  explicit EventLog(const std::string& directory, FileSystem& files = local_files());
  ~EventLog();  // what was added is in the file, or the disk would not take it
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  const std::string& path() const { return path_; }
  // `make` is called on the log's thread. Waits only when kQueued events wait before it.
  void add(std::function<std::string()> make);
  // Brings what was added into the file, soon; FileError when an earlier flush() could not.
  void flush();
  // Waits until everything is in the file; FileError when something could not be written.
  void finish();

  static constexpr size_t kQueued = 1024;

 private:
  std::string path_;
  std::unique_ptr<FileWriter> file_;
  TFRecordWriter records_;
  int64_t flushed_ = 0;         // when, on the steady clock
  std::exception_ptr failure_;  // the first; of the log's thread
  std::optional<Future<void>> flushing_;
  std::unique_ptr<ThreadPool> pool_;  // last: its end is the first
};

double seconds_since_1970();
std::string host_name();  // "localhost" where it has none

}  // namespace stoker
