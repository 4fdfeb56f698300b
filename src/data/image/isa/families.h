// The families of pixel kernels, one file each; a table is made by calling all of them.
#pragma once

#include "data/image/isa/kernels.h"

namespace stoker::image::STOKER_ISA {

void add_mix_rows(Kernels& table);
void add_mix_columns(Kernels& table);
void add_values(Kernels& table);
void add_reverse(Kernels& table);

}  // namespace stoker::image::STOKER_ISA
