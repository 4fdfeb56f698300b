// Which of the vector kernels this host runs.
#include "formats/isa/csv_kernels.h"
#include "base/isa_table.h"

namespace stoker::csv_scan {

const Kernels& kernels_of(Isa isa) { return table_of<Kernels>(isa); }

const Kernels& kernels() {
  static const Kernels& chosen = kernels_of(host_isa());
  return chosen;
}

}  // namespace stoker::csv_scan
