// A function of Values on one device, run as often as one likes.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <stoker/context.h>
#include <stoker/function.h>

namespace stoker::test {

class Step {
 public:
  enum class Mode : uint8_t { inference, training };

  Step(const std::string& device, TracedFunction::Body body, Mode mode = Mode::training);
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;

 private:
  Context context_;
  TracedFunction function_;
};

// Traced and run once.
std::vector<Tensor> run_once(const std::string& device, const std::vector<Tensor>& inputs,
                             TracedFunction::Body body);

// Why a device cannot be tested here; "" when it can.
std::string untestable(const std::string& device);

// A test that runs on each of kDevices.
class DeviceTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (std::string why = untestable(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  const std::string& device() const { return GetParam(); }
};
inline const auto kDevices = testing::Values("cpu", "reference");
inline std::string device_name(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace stoker::test
