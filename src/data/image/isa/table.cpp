#include "data/image/isa/families.h"

namespace stoker::image {

void fill_table(Kernels& table, isa::STOKER_ISA) {
  using namespace STOKER_ISA;
  table.name = isa::STOKER_ISA::kName;
  add_mix_rows(table);
  add_mix_columns(table);
  add_values(table);
  add_reverse(table);
}

}  // namespace stoker::image
