// Which of the vector kernels this host runs.
#include "nn/initializers/isa/kernels.h"
#include "base/isa_table.h"

namespace stoker::draw {

const Kernels& kernels() {
  static const Kernels chosen = table_of<Kernels>(host_isa());
  return chosen;
}

}  // namespace stoker::draw
