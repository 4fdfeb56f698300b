#include "data/runtime/addresses.h"

#include <fmt/format.h>

namespace stoker::data {

namespace {

std::string address(const std::string& stage, int64_t epoch, int64_t index,
                    const std::string& origin, const std::string& why) {
  std::string file = origin.empty() ? "" : fmt::format(" ({})", origin);
  return fmt::format("{}: element {} of epoch {}{}: {}", stage, index, epoch, file, why);
}

}  // namespace

ElementError::ElementError(const std::string& stage, int64_t epoch, int64_t index,
                           const std::string& origin, const std::string& why)
    : Error(address(stage, epoch, index, origin, why)),
      stage_(stage),
      origin_(origin),
      epoch_(epoch),
      index_(index) {}

std::string current_message() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

std::exception_ptr addressed_error(const std::string& stage, int64_t epoch, int64_t index,
                                   const std::string& origin) {
  try {
    rethrow_addressed(stage, epoch, index, origin);
  } catch (...) {
    return std::current_exception();
  }
}

void rethrow_addressed(const std::string& stage, int64_t epoch, int64_t index,
                       const std::string& origin) {
  try {
    throw;
  } catch (const ElementError&) {
    throw;
  } catch (...) {
    throw ElementError(stage, epoch, index, origin, current_message());
  }
}

}  // namespace stoker::data
