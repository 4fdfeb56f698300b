// A pool with a fixed number of threads and one queue, first in, first out. What a task throws
// arrives through its future. The destructor runs what is still queued and joins; no thread
// outlives the pool. All functions may be called from any thread and from tasks, except wait_idle.
// In a child after fork() its threads are gone: submit and wait_idle throw Error there.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/forks.h"
#include "base/future.h"

namespace stoker {

class ThreadPool {
 public:
  struct Options {
    int threads = 1;
    size_t queue_limit = std::numeric_limits<size_t>::max();  // tasks that may wait
    std::string name = "stoker";  // of the threads, as debuggers show it
  };

  explicit ThreadPool(Options options);  // ValueError without threads or without room for a task
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return int(threads_.size()); }

  // Queues a task. When the queue is full, the caller waits for room; a task of this pool that
  // submits does not wait, since all threads could be waiting, but runs the new task itself.
  template <class Function>
  auto submit(Function function) {
    using Result = std::invoke_result_t<Function>;
    auto task = std::make_shared<TaskOf<Function, Result>>(std::move(function));
    push(task);
    return Future<Result>(std::move(task));
  }

  // Returns when nothing is queued or running. Error when a task of this pool asks: it would wait
  // for itself.
  void wait_idle();

 private:
  struct Task {
    virtual ~Task() = default;
    virtual void run() = 0;
  };
  template <class Function, class Result>
  struct TaskOf final : Task, Promise<Result> {
    explicit TaskOf(Function body) : function(std::move(body)) {}
    void run() override { this->fulfil(function); }
    std::optional<Function> function;
  };

  void push(std::shared_ptr<Task> task);
  void work();
  void stop();
  bool on_own_thread() const;

  const size_t queue_limit_;
  const int forks_ = forks();  // when the threads were started
  std::mutex mutex_;
  std::condition_variable task_ready_, room_ready_, idle_;
  std::deque<std::shared_ptr<Task>> queue_;
  int running_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Calls body(begin, end) for consecutive ranges of `grain` indices (the last may be shorter) that
// cover [0, count), on the pool's threads and on the caller's, and returns when all are done. The
// ranges depend only on count and grain. When calls throw, no new ranges are begun and the
// exception of the lowest range that threw is thrown here. May be nested: the caller takes part, so
// no thread only waits.
void parallel_for(ThreadPool& pool, int64_t count, int64_t grain,
                  const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace stoker
