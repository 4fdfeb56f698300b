// Which of the vector kernels this host runs.
#include "engine/cpu/isa/kernels.h"

#include <cstdlib>
#include <string_view>

namespace stoker::cpu {

namespace generic {
KernelTable make_table();
}
namespace avx2 {
KernelTable make_table();
}
namespace avx512 {
KernelTable make_table();
}

namespace {

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

KernelTable choose() {
  const char* limit = std::getenv("STOKER_MAX_ISA");
  std::string_view most = limit == nullptr ? "avx512" : limit;
  if (most != "generic" && most != "avx2" && has_avx512()) return avx512::make_table();
  if (most != "generic" && has_avx2()) return avx2::make_table();
  return generic::make_table();
}

}  // namespace

const KernelTable& kernels() {
  static const KernelTable table = choose();
  return table;
}

}  // namespace stoker::cpu
