// What the operating system counts: time on cores of this process, of its threads and of all processes,
// waiting for a core, and how long a control group held the process back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

#include "observe/evidence.h"

namespace stoker::doctor {

// Sums since some moment, nanoseconds; for differences.
struct CpuCounters {
  int64_t at = 0;  // steady_clock()
  int64_t process = 0;
  int64_t system = 0;     // all programs, on the cores that this process may use
  int64_t throttled = 0;  // by the control group's quota
  // By thread: on a core, and ready to run but not on one.
  struct Thread {
    int64_t ran = 0, delayed = 0;
    bool pipeline = false;  // one of those that make batches
  };
  std::map<int, Thread> threads;
};

// Takes some tenths of a millisecond: some small files. What cannot be read stays 0. `root` is
// where /proc and /sys are looked for.
CpuCounters read_cpu_counters(const std::filesystem::path& root = "/");

// What happened between two readings.
void add_to(HealthFacts& health, const CpuCounters& before, const CpuCounters& after);

// Most bytes of memory that this process ever held.
int64_t peak_memory_of_process(const std::filesystem::path& root = "/");

}  // namespace stoker::doctor
