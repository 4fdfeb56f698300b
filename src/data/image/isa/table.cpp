#include "data/image/isa/families.h"

#define STOKER_TEXT(x) #x
#define STOKER_NAME(x) STOKER_TEXT(x)

namespace stoker::image::STOKER_ISA {

Kernels make_table() {
  Kernels table = {};
  table.name = STOKER_NAME(STOKER_ISA);
  add_mix_rows(table);
  add_mix_columns(table);
  add_values(table);
  add_reverse(table);
  return table;
}

}  // namespace stoker::image::STOKER_ISA
