// Tests of what a GPU does. Without one they are skipped, and say why.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/backend.h"

namespace stoker::test {

template <class Test = testing::Test>
class GpuTest : public Test {
 protected:
  void SetUp() override {
    if (std::string why; !has_cuda(&why)) GTEST_SKIP() << why;
    Test::SetUp();
  }
};

}  // namespace stoker::test
