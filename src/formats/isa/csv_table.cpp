#include "formats/isa/csv_families.h"

namespace stoker::csv_scan::STOKER_ISA {

Kernels make_table() {
  Kernels table = {};
  add_ends(table);
  add_record_numbers(table);
  add_column_numbers(table);
  return table;
}

}  // namespace stoker::csv_scan::STOKER_ISA
