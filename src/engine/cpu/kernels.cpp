// Which of the vector kernels this host runs.
#include "engine/cpu/isa/kernels.h"

#include "base/isa.h"

namespace stoker::cpu {

namespace generic {
KernelTable make_table();
}
namespace avx2 {
KernelTable make_table();
}
namespace avx512 {
KernelTable make_table();
}

namespace {

KernelTable choose() {
  switch (host_isa()) {
    case Isa::avx512:
      return avx512::make_table();
    case Isa::avx2:
      return avx2::make_table();
    case Isa::generic:
      break;
  }
  return generic::make_table();
}

}  // namespace

const KernelTable& kernels() {
  static const KernelTable table = choose();
  return table;
}

}  // namespace stoker::cpu
