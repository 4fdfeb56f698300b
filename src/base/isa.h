// Which vector instructions the code of the folders named "isa" may use on this host.
#pragma once

namespace stoker {

enum class Isa { generic, avx2, avx512 };

// The best set that the processor has and that the environment's STOKER_MAX_ISA (generic, avx2 or
// avx512) allows.
Isa host_isa();
// The same without the environment: what may be run at all.
Isa processor_isa();

}  // namespace stoker
