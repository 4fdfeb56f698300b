// Tests of what a GPU does. Without one they are skipped, and say why.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/registry.h"

namespace stoker::test {

template <class Test = testing::Test>
class GpuTest : public Test {
 protected:
  void SetUp() override {
    if (std::string why; !is_usable("cuda", &why)) GTEST_SKIP() << why;
    Test::SetUp();
  }
};

}  // namespace stoker::test
