#include "data/image/kernels.h"

#include "base/isa_tables.h"

namespace stoker::image {

STOKER_ISA_TABLES(Kernels)

const Kernels& kernels_of(Isa isa) {
  return isa_table<generic::make_table, avx2::make_table, avx512::make_table>(isa);
}

const Kernels& kernels() {
  static const Kernels& chosen = kernels_of(host_isa());
  return chosen;
}

}  // namespace stoker::image
