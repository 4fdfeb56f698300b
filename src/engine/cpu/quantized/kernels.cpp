// Which of the vector kernels this host runs.
#include "engine/cpu/quantized/isa/kernels.h"
#include "base/isa_table.h"

namespace stoker::cpu::quantized {

const Kernels& kernels() {
  static const Kernels chosen = table_of<Kernels>(host_isa());
  return chosen;
}

}  // namespace stoker::cpu::quantized
