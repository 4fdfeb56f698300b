// Which of the vector kernels this host runs.
#include "base/isa_table.h"
#include "engine/cpu/isa/table.h"

namespace stoker::cpu {

const KernelTable& kernels() {
  static const KernelTable table = table_of<KernelTable>(host_isa());
  return table;
}

}  // namespace stoker::cpu
