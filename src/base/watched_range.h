// Names the file behind a mapped page that cannot be read. A page of a file that was cut off, or
// that a broken disk does not deliver, ends the process by SIGBUS; while a range is watched, a line
// on standard error names the file first. Then the previous handler, or the default one, runs.
//
// The handler is installed with the first range and the previous one comes back with the last. It
// only reads a fixed table: ranges beyond its size, and empty ones, are not watched. From any
// thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace stoker {

class WatchedRange {
 public:
  WatchedRange(std::span<const std::byte> bytes, const std::string& path);
  ~WatchedRange();
  WatchedRange(const WatchedRange&) = delete;
  WatchedRange& operator=(const WatchedRange&) = delete;

 private:
  std::string line_;  // what the handler writes
  int place_ = -1;    // in the table; -1: not watched
};

}  // namespace stoker
