// What tests of the profiler check on every device.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <stoker/profiler.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "support/peer_python.h"

namespace stoker::test {

using namespace doctor;

// A row of a measured summary: the layer is there, and has a time.
inline void expect_time_of(const std::string& layer, const std::string& summary) {
  std::istringstream lines(summary);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(layer)) {
      EXPECT_TRUE(std::regex_search(line, std::regex("[0-9] ms"))) << line;
      return;
    }
  ADD_FAILURE() << "no row of " << layer << " in\n" << summary;
}

// Ops and layers each take all of the time in ops, which is measured inside of the step.
inline void expect_sums(const StepProfile& step) {
  double ops = 0, layers = 0;
  for (const LayerReport& op : step.ops) ops += op.seconds;
  for (const LayerProfile& layer : step.layers) layers += layer.seconds();
  EXPECT_NEAR(ops, step.op_seconds, 1e-9);
  EXPECT_NEAR(layers, step.op_seconds, 1e-9);
  EXPECT_LE(step.op_seconds, step.seconds);
}

// TensorBoard's plugin opens what was written there, and shows what is expected besides the forward
// ops of these layers.
inline void expect_plugin_shows(const std::string& logs, nlohmann::json expected,
                                const std::set<std::string>& layers) {
  nlohmann::json profile = nlohmann::json::parse(read_text(logs + "/profile.json"));
  expected["ops"] = nlohmann::json::array();
  for (const nlohmann::json& op : profile["steps"][0]["ops"])
    if (std::string layer = op["layer"]; op["phase"] == "forward" && layers.contains(layer))
      expected["ops"].push_back(layer + "/" + op["op"].get<std::string>());
  ASSERT_GE(expected["ops"].size(), layers.size());
  write_file_atomically(logs + "/expected.json", expected.dump());
  STOKER_EXPECT_PEER("observe/profile/check_xplane.py", logs);
}

}  // namespace stoker::test
