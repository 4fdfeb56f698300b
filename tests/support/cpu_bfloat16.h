// bfloat16 products on a CPU that has no instructions for them, by oneDNN's emulation.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/backend.h"

namespace stoker::test {

// While it lives, the CPU engine multiplies bfloat16 as such ("on") or not at all ("off").
class CpuBfloat16 {
 public:
  explicit CpuBfloat16(const char* wanted = "on") {
    ::setenv("STOKER_CPU_BFLOAT16", wanted, 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~CpuBfloat16() { ::unsetenv("STOKER_CPU_BFLOAT16"); }  // NOLINT(concurrency-mt-unsafe)
  CpuBfloat16(const CpuBfloat16&) = delete;
  CpuBfloat16& operator=(const CpuBfloat16&) = delete;
  bool works() const { return backend("cpu").supports("conv2d", DType::bfloat16); }
};

}  // namespace stoker::test

#define STOKER_WITH_CPU_BFLOAT16()           \
  ::stoker::test::CpuBfloat16 with_bfloat16; \
  if (!with_bfloat16.works())                \
  GTEST_SKIP() << "oneDNN multiplies no bfloat16 on this CPU: it has no AVX-512"
