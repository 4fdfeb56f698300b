// Tests of what every backend promises, run once for each.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/backend.h"

namespace stoker::test {

class DeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
#ifdef STOKER_TSAN
    if (GetParam() == "cpu")
      GTEST_SKIP() << "ThreadSanitizer does not see libgomp's synchronisation";
#endif
  }
  Backend& device() { return backend(GetParam()); }
  std::unique_ptr<Program> compile(const Graph& graph) { return device().compile(graph, {}); }
};

inline std::string device_name(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace stoker::test
