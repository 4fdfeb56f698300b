// What is measured while a pipeline runs: per stage, always on, sampled where a clock reading would
// cost more than the work. Thread-safe; explain(), the doctor and the progress bar read the same
// numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "base/counters.h"

namespace stoker::data {

class Node;

// A function of elements, by its sampled calls.
struct StageStats {
  const Node* node = nullptr;
  std::string name;
  bool random = false;
  std::atomic<uint32_t> sample_period = 1;  // one call in so many is measured
  Counter sampled, sampled_ns, bytes;       // bytes: written by the sampled calls
  // Of some of the sampled calls, because asking for a thread's time on a core takes 0.3 us.
  Counter cpu_sampled, cpu_sampled_ns, cpu_ns;
  std::atomic<int64_t> longest_ns = 0;

  double mean_ns() const {
    int64_t count = sampled.value();
    return count > 0 ? double(sampled_ns.value()) / double(count) : 0;
  }
};

// A group of workers and its consumer.
struct RunnerStats {
  std::string name;
  Counter delivered;        // batches or elements handed over
  Counter items;            // rows or elements made
  Counter busy_ns;          // of workers
  Counter cpu_ns;           // of workers, on a core
  Counter waited, wait_ns;  // of the consumer: how often and how long
  Gauge workers, depth, ready;
};

class Statistics {
 public:
  StageStats& stage(const Node& node, std::string name);
  RunnerStats& runner(std::string name);
  const std::deque<StageStats>& stages() const { return stages_; }
  const std::deque<RunnerStats>& runners() const { return runners_; }

 private:
  std::deque<StageStats> stages_;  // made while planning, by one thread
  std::deque<RunnerStats> runners_;
};

}  // namespace stoker::data
