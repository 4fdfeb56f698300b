#include "formats/isa/csv_families.h"

namespace stoker::csv_scan {

void fill_table(Kernels& table, isa::STOKER_ISA) {
  STOKER_ISA::add_ends(table);
  STOKER_ISA::add_record_numbers(table);
  STOKER_ISA::add_column_numbers(table);
}

}  // namespace stoker::csv_scan
