// The families of vector kernels, one file each; a table is made by calling all of them.
#pragma once

#include "engine/cpu/isa/kernels.h"

namespace stoker::cpu::STOKER_ISA {

void add_elementwise(KernelTable& table);
void add_convert(KernelTable& table);
void add_reductions(KernelTable& table);
void add_softmax(KernelTable& table);
void add_batch_norm(KernelTable& table);
void add_layer_norm(KernelTable& table);
void add_pooling(KernelTable& table);
void add_stem(KernelTable& table);
void add_weight_grad(KernelTable& table);
void add_depthwise(KernelTable& table);
void add_gemm(KernelTable& table);
void add_optimizers(KernelTable& table);
void add_random(KernelTable& table);
void add_recurrent(KernelTable& table);
void add_attention(KernelTable& table);
void add_decoding(KernelTable& table);

KernelTable make_table();

}  // namespace stoker::cpu::STOKER_ISA
