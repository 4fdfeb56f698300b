#include <stoker/context.h>

#include <iostream>
#include <random>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

uint64_t Seed::value() const {
  std::lock_guard lock(mutex_);
  if (!value_) {
    std::random_device entropy;
    uint64_t high = entropy();
    value_ = high << 32 | entropy();
  }
  return *value_;
}

void Seed::set(uint64_t value) {
  std::lock_guard lock(mutex_);
  value_ = value;
  drawn_ = false;
  next_stream_ = 0;
}

bool Seed::drawn() const {
  std::lock_guard lock(mutex_);
  return drawn_;
}

void Seed::resume(uint64_t value) {
  std::lock_guard lock(mutex_);
  value_ = value;
}

uint64_t Seed::next_stream() {
  std::lock_guard lock(mutex_);
  return next_stream_++;
}

std::ostream* standard_output() { return &std::cout; }

Context& default_context() {
  static Context context;
  return context;
}

void set_seed(uint64_t seed) { default_context().seed.set(seed); }

void set_threads(Threads threads) {
  if (threads.pipeline < 0 || threads.compute < 0)
    throw ValueError(fmt::format(
        "set_threads: expected 0 (automatic) or more, got {{pipeline = {}, compute = {}}}",
        threads.pipeline, threads.compute));
  default_context().threads = threads;
}

void set_global_policy(const std::string& policy) {
  compute_dtype(policy);  // checks it
  default_context().policy = policy;
}

DType compute_dtype(const std::string& policy) {
  if (policy == "float32") return DType::float32;
  if (policy == "mixed_bfloat16") return DType::bfloat16;
  if (policy == "mixed_float16") return DType::float16;
  throw ValueError(fmt::format(
      "unknown policy \"{}\"; there are float32, mixed_bfloat16, mixed_float16", policy));
}

}  // namespace stoker
