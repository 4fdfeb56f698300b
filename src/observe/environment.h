// What a training needs of its machine, looked at one by one, with what to do about it.
#pragma once

#include <string>
#include <vector>

#include <stoker/context.h>

namespace stoker {

enum class CheckResult : uint8_t { good, note, bad };

struct EnvironmentCheck {
  std::string what, found;
  CheckResult result = CheckResult::good;
  std::string advice = {};
};

// Driver and GPUs, the engine, vector instructions, cores and quotas, memory, and how fast `folder`
// is read and written. Takes about a second.
std::vector<EnvironmentCheck> check_environment(const std::string& folder = ".");
std::string to_text(const std::vector<EnvironmentCheck>& checks);

}  // namespace stoker
