#include <string_view>

#include <stoker/error.h>
#include <nlohmann/json.hpp>

#include "fuzz/fuzz.h"
#include "jobs/toml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    stoker::jobs::json_of_toml({reinterpret_cast<const char*>(data), size});
  } catch (const stoker::Error&) {
  }
  return 0;
}
