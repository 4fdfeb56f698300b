// Which of the vector kernels this host runs.
#include "engine/cpu/isa/kernels.h"
#include "base/isa_tables.h"

namespace stoker::cpu {

STOKER_ISA_TABLES(KernelTable)

const KernelTable& kernels() {
  static const KernelTable& chosen =
      isa_table<generic::make_table, avx2::make_table, avx512::make_table>(host_isa());
  return chosen;
}

}  // namespace stoker::cpu
