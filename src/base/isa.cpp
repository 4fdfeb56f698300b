#include "base/isa.h"

#include <cpuid.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace stoker {
namespace {

// Asked of the processor itself: clang 14 has no word for it.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

Isa allowed_isa() {
  const char* limit = std::getenv("STOKER_MAX_ISA");
  std::string_view most = limit == nullptr ? "avx512" : limit;
  return most == "generic" ? Isa::generic : most == "avx2" ? Isa::avx2 : Isa::avx512;
}

}  // namespace

Isa processor_isa() { return has_avx512() ? Isa::avx512 : has_avx2() ? Isa::avx2 : Isa::generic; }

Isa host_isa() { return std::min(processor_isa(), allowed_isa()); }

}  // namespace stoker
