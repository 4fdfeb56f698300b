// Which of the vector kernels this host runs.
#include "engine/cpu/quantized/isa/kernels.h"
#include "base/isa.h"

namespace stoker::cpu::quantized {

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
const Kernels& kernels() {
  static const Kernels chosen = host_isa() == Isa::avx512 ? avx512::make_table()
                                : host_isa() == Isa::avx2 ? avx2::make_table()
                                                          : generic::make_table();
  return chosen;
}

}  // namespace stoker::cpu::quantized
