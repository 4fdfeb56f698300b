// Initialisers draw within Keras's limits, and up to them: keras_values.py.

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <stoker/context.h>
#include <stoker/initializers.h>

#include "parity/recording.h"

namespace stoker {
namespace {

using namespace test;

TEST(Initializers, HaveKerasLimits) {
  set_seed(1);
  Recording recording("initializers");
  for (const std::string& name : recording.names("limit/")) {
    size_t slash = name.find('/');
    const Tensor& extents = recording.tensor("shape/" + name.substr(slash + 1));
    Shape shape(extents.values<int64_t>());
    double limit = recording.number("limit/" + name);
    double widest = 0;
    Tensor values = Initializer(name.substr(0, slash))(shape);
    for (float value : values.values<float>()) widest = std::max(widest, std::abs(double(value)));
    // 1.2% of a normal distribution cut at two deviations lies in the outer 5%; that none of 3200
    // draws or more does has a chance of 10^-17.
    EXPECT_LE(widest, limit * (1 + 0x1p-22)) << name;
    EXPECT_GE(widest, limit * 0.95) << name;
  }
}

}  // namespace
}  // namespace stoker
