#include "base/tracing.h"

#include <pthread.h>

#include <array>

namespace stoker {

namespace {

std::string this_thread_name() {
  std::array<char, 32> name{};
  if (pthread_getname_np(pthread_self(), name.data(), name.size()) != 0) return {};
  return name.data();
}

}  // namespace

void Trace::add(std::string_view name, int64_t begin, int64_t end) {
  {
    std::lock_guard lock(mutex_);
    auto [thread, is_new] = threads_.try_emplace(this_thread_number());
    if (is_new) thread->second = this_thread_name();
  }
  recorder_.record_span(recorder_.intern(name), begin, end);
}

std::map<int, std::string> Trace::thread_names() const {
  std::lock_guard lock(mutex_);
  return threads_;
}

}  // namespace stoker
