#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

constexpr size_t kThreadNameLimit = 15;  // Linux's

thread_local const ThreadPool* current_pool = nullptr;

// One parallel_for. Helpers that start late find no range left and do not touch the body, which may
// be gone by then; they share this state, so it is not.
class SharedRanges {
 public:
  SharedRanges(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body)
      : count_(count), grain_(grain), ranges_((count - 1) / grain + 1), body_(body) {}

  int64_t ranges() const { return ranges_; }

  // Takes ranges until none is left.
  void work() {
    for (int64_t range; (range = next_.fetch_add(1)) < ranges_;) {
      if (!failed_) run(range);
      finish();
    }
  }

  // Waits for the ranges that others took, and throws what the lowest of them threw.
  void wait() {
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [&] { return done_ == ranges_; });
    // Taken out, so that the exception goes with its catcher and not with the last helper.
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void run(int64_t range) {
    try {
      int64_t begin = range * grain_;
      body_(begin, std::min(count_ - begin, grain_) + begin);
    } catch (...) {
      std::lock_guard lock(mutex_);
      failed_ = true;
      if (!error_ || range < error_range_) {
        error_ = std::current_exception();
        error_range_ = range;
      }
    }
  }

  void finish() {
    std::lock_guard lock(mutex_);
    if (++done_ == ranges_) all_done_.notify_all();
  }

  const int64_t count_, grain_, ranges_;
  const std::function<void(int64_t, int64_t)>& body_;
  std::atomic<int64_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::condition_variable all_done_;
  int64_t done_ = 0, error_range_ = 0;
  std::exception_ptr error_;
};

}  // namespace

ThreadPool::ThreadPool(Options options) : queue_limit_(options.queue_limit) {
  if (options.threads < 1 || options.queue_limit < 1)
    throw ValueError(
        fmt::format("ThreadPool: expected a thread and room for a task at least, got {} and {}",
                    options.threads, options.queue_limit));
  threads_.reserve(size_t(options.threads));
  try {
    for (int i = 0; i < options.threads; ++i) {
      threads_.emplace_back([this] { work(); });
      std::string name = fmt::format("{}-{}", options.name, i).substr(0, kThreadNameLimit);
      pthread_setname_np(threads_.back().native_handle(), name.c_str());
    }
  } catch (const std::system_error& error) {
    stop();
    throw Error(fmt::format("ThreadPool: only {} of {} threads could be started: {}",
                            threads_.size(), options.threads, error.what()));
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  task_ready_.notify_all();
  for (std::thread& thread : threads_)
    if (forks_ == forks())
      thread.join();
    else
      thread.detach();  // it runs in the parent
}

void ThreadPool::push(std::shared_ptr<Task> task) {
  check_not_forked(forks_, "a pool of threads");
  std::unique_lock lock(mutex_);
  if (on_own_thread() && queue_.size() >= queue_limit_) {
    lock.unlock();
    task->run();
    return;
  }
  room_ready_.wait(lock, [&] { return queue_.size() < queue_limit_; });
  queue_.push_back(std::move(task));
  task_ready_.notify_one();
}

void ThreadPool::wait_idle() {
  check_not_forked(forks_, "a pool of threads");
  if (on_own_thread()) throw Error("ThreadPool::wait_idle: called by a task of the same pool");
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return queue_.empty() && running_ == 0; });
}

void ThreadPool::work() {
  current_pool = this;
  std::unique_lock lock(mutex_);
  while (true) {
    task_ready_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::shared_ptr<Task> task = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    room_ready_.notify_one();
    lock.unlock();
    task->run();
    task.reset();
    lock.lock();
    --running_;
    if (queue_.empty() && running_ == 0) idle_.notify_all();
  }
}

bool ThreadPool::on_own_thread() const { return current_pool == this; }

void parallel_for(ThreadPool& pool, int64_t count, int64_t grain,
                  const std::function<void(int64_t begin, int64_t end)>& body) {
  if (grain < 1)
    throw ValueError(fmt::format("parallel_for: expected a grain of 1 or more, got {}", grain));
  if (count <= 0) return;
  auto shared = std::make_shared<SharedRanges>(count, grain, body);
  int64_t helpers = std::min<int64_t>(pool.size(), shared->ranges() - 1);
  for (int64_t i = 0; i < helpers; ++i) pool.submit([shared] { shared->work(); });
  shared->work();
  shared->wait();
}

}  // namespace stoker
