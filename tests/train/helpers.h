// Shared by the tests of the train room: a device for the duration of a test, small data,
// comparisons.
#pragma once

#include <gtest/gtest.h>
#include <stoker/stoker.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/devices.h"

namespace stoker::test {

// Sets the default context's device, seed and output, and puts back what was there.
class OnDevice {
 public:
  explicit OnDevice(const std::string& device = "reference", uint64_t seed = 1)
      : device_(default_context().device), out_(default_context().out) {
    default_context().device = device;
    default_context().out = nullptr;
    set_seed(seed);
  }
  ~OnDevice() {
    default_context().device = device_;
    default_context().out = out_;
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  std::string device_;
  std::ostream* out_;
};

// A test that runs once on every device: TEST_P(Fit, …) with INSTANTIATE_ON_DEVICES(Fit).
class DeviceTest : public testing::TestWithParam<std::string> {
 protected:
  OnDevice device_{GetParam()};
};
#define INSTANTIATE_ON_DEVICES(Suite)                                          \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, testing::ValuesIn(test::devices()), \
                           [](const auto& device) { return device.param; })

inline Tensor normal(const Shape& shape, uint64_t seed) {
  Tensor tensor(DType::float32, shape);
  Rng rng(seed);
  float* out = tensor.data_mut<float>();
  for (int64_t i = 0; i < shape.elements(); ++i) out[i] = rng.normal();
  return tensor;
}

struct Data {
  Tensor x, y;
};

// Points around `classes` centres: x float32 [count, features], y int32 [count].
inline Data blobs(int64_t count, int64_t features, int64_t classes, uint64_t seed,
                  float spread = 0.4F) {
  Tensor centres = normal({classes, features}, seed ^ 0x5eed);
  Tensor x(DType::float32, {count, features}), y(DType::int32, {count});
  float* values = x.data_mut<float>();
  auto* labels = y.data_mut<int32_t>();
  for (int64_t row = 0; row < count; ++row) {
    Rng rng(seed, uint64_t(row));
    labels[row] = int32_t(rng.integer(0, classes));
    for (int64_t column = 0; column < features; ++column)
      values[row * features + column] =
          centres.data<float>()[labels[row] * features + column] + spread * rng.normal();
  }
  return {x, y};
}

// y = 2 x₀ - x₁ + 0.5, x: [count, 2], y: [count, 1]
inline Data line(int64_t count, uint64_t seed) {
  Tensor x = normal({count, 2}, seed), y(DType::float32, {count, 1});
  for (int64_t row = 0; row < count; ++row)
    y.data_mut<float>()[row] = 2 * x.data<float>()[2 * row] - x.data<float>()[2 * row + 1] + 0.5F;
  return {x, y};
}

inline Tensor rows(const Tensor& tensor, const std::vector<int64_t>& wanted) {
  return tensor.gather(wanted);
}

inline void expect_near(const Tensor& got, const Tensor& expected, double tolerance) {
  ASSERT_EQ(got.spec(), expected.spec());
  for (int64_t i = 0; i < got.elements(); ++i)
    ASSERT_NEAR(got.at(i), expected.at(i), tolerance * (1 + std::abs(expected.at(i))))
        << "element " << i;
}

inline void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                        double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], expected[i], tolerance);
}

// Runs `action` and gives the text of the E that it throws.
template <class E, class F>
std::string error_of(F&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline testing::AssertionResult says(const std::string& text,
                                     std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (text.find(part) == std::string::npos)
      return testing::AssertionFailure() << "\"" << part << "\" is not in: " << text;
  return testing::AssertionSuccess();
}

// Learns a line through two numbers: the smallest thing that fit trains.
inline Sequential line_model(double learning_rate = 0.05) {
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = SGD({.learning_rate = learning_rate}), .loss = "mse"});
  return model;
}

}  // namespace stoker::test
