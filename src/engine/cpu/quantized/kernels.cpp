// Which of the vector kernels this host runs.
#include "engine/cpu/quantized/isa/kernels.h"
#include "base/isa_tables.h"

namespace stoker::cpu::quantized {

STOKER_ISA_TABLES(Kernels)

const Kernels& kernels() {
  static const Kernels& chosen =
      isa_table<generic::make_table, avx2::make_table, avx512::make_table>(host_isa());
  return chosen;
}

}  // namespace stoker::cpu::quantized
