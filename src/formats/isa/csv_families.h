// The families of kernels for CSV, one file each; a table is filled by calling all of them.
#pragma once

#include "formats/isa/csv_kernels.h"

namespace stoker::csv_scan::STOKER_ISA {

void add_ends(Kernels& table);
void add_record_numbers(Kernels& table);
void add_column_numbers(Kernels& table);

}  // namespace stoker::csv_scan::STOKER_ISA
