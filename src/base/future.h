// What a task will return or throw. std::future does the same, but leaves it to chance which thread
// frees an exception, which ThreadSanitizer reports as a race (libstdc++ counts references where it
// cannot see them): here the exception moves to the thread that asks for it.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace stoker {

// The place where one thread leaves an outcome and another picks it up.
template <class T>
class Promise {
 public:
  // Runs the function and keeps what it returns or throws. The function, with all it holds, is gone
  // before the outcome can be seen.
  template <class Function>
  void fulfil(std::optional<Function>& function) {
    std::variant<std::monostate, Value, std::exception_ptr> outcome;
    try {
      if constexpr (std::is_void_v<T>) {
        (*function)();
        outcome.template emplace<kValue>();
      } else {
        outcome.template emplace<kValue>((*function)());
      }
    } catch (...) {
      outcome.template emplace<kException>(std::current_exception());
    }
    function.reset();
    std::lock_guard lock(mutex_);
    outcome_ = std::move(outcome);
    fulfilled_.notify_all();
  }

  bool ready() const {
    std::lock_guard lock(mutex_);
    return outcome_.index() != kNothing;
  }

  void wait() const {
    std::unique_lock lock(mutex_);
    fulfilled_.wait(lock, [&] { return outcome_.index() != kNothing; });
  }

  T take() {
    wait();
    if (outcome_.index() == kException)
      std::rethrow_exception(std::exchange(std::get<kException>(outcome_), nullptr));
    if constexpr (!std::is_void_v<T>) return std::move(std::get<kValue>(outcome_));
  }

 private:
  struct Nothing {};
  using Value = std::conditional_t<std::is_void_v<T>, Nothing, T>;
  static constexpr size_t kNothing = 0, kValue = 1, kException = 2;

  mutable std::mutex mutex_;
  mutable std::condition_variable fulfilled_;
  std::variant<std::monostate, Value, std::exception_ptr> outcome_;
};

template <class T>
class Future {
 public:
  explicit Future(std::shared_ptr<Promise<T>> promise) : promise_(std::move(promise)) {}

  bool ready() const { return promise_->ready(); }
  void wait() const { promise_->wait(); }
  // Waits for the outcome and hands it over; once.
  T get() { return std::exchange(promise_, nullptr)->take(); }

 private:
  std::shared_ptr<Promise<T>> promise_;
};

}  // namespace stoker
