// The tables of vector kernels, one per instruction set: see base/isa_table.h.
#pragma once

#include "base/isa.h"
#include "engine/cpu/isa/kernels.h"

namespace stoker::cpu {

void fill_table(KernelTable& table, isa::generic);
void fill_table(KernelTable& table, isa::avx2);
void fill_table(KernelTable& table, isa::avx512);

}  // namespace stoker::cpu
