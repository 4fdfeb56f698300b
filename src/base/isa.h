// Which vector instructions the code of the folders named "isa" may use on this host.
#pragma once

namespace stoker {

enum class Isa { generic, avx2, avx512 };

// The same as types: overloads for one set carry its name, as all code that is compiled for it must.
namespace isa {
struct generic {
  static constexpr const char* kName = "generic";
};
struct avx2 {
  static constexpr const char* kName = "avx2";
};
struct avx512 {
  static constexpr const char* kName = "avx512";
};
}  // namespace isa

// The best set that the processor has and that the environment's STOKER_MAX_ISA (generic, avx2 or
// avx512) allows.
Isa host_isa();
// The same without the environment: what may be run at all.
Isa processor_isa();

}  // namespace stoker
