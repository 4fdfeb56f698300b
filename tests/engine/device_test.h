// Tests of what every backend promises, run once for each.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/registry.h"
#include "support/tsan.h"

namespace stoker::test {

// The backends of this build that can run here.
inline std::vector<std::string> device_names() {
  std::vector<std::string> names = {"reference", "cpu"};
  if (is_usable("cuda")) names.emplace_back("cuda");
  return names;
}

class DeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "cpu") STOKER_SKIP_UNDER_TSAN();
  }
  Backend& device() { return backend(GetParam()); }
  std::unique_ptr<Program> compile(const Graph& graph) { return device().compile(graph, {}); }
};

inline std::string device_name(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace stoker::test
