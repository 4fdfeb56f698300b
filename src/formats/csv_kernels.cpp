// Which of the vector kernels this host runs.
#include "formats/isa/csv_kernels.h"

namespace stoker::csv_scan {

namespace generic {
Kernels make_table();
}
namespace avx2 {
Kernels make_table();
}
namespace avx512 {
Kernels make_table();
}

// A table is made only where its instructions may run.
const Kernels& kernels_of(Isa isa) {
  if (isa == Isa::avx512) {
    static const Kernels table = avx512::make_table();
    return table;
  }
  if (isa == Isa::avx2) {
    static const Kernels table = avx2::make_table();
    return table;
  }
  static const Kernels table = generic::make_table();
  return table;
}

const Kernels& kernels() {
  static const Kernels& chosen = kernels_of(host_isa());
  return chosen;
}

}  // namespace stoker::csv_scan
