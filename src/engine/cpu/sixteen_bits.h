// Sixteen-bit floats on a CPU. Products of bfloat16 (convolutions, matmul, those inside recurrent
// layers) run on the CPU's bfloat16 instructions where it has them, and are summed in float32. All
// other arithmetic is on float32: what a product, a normalisation or an activation gives stays
// float32 until the next product rounds it. A cast that the graph itself has always rounds.
#pragma once

#include "graph/graph.h"

namespace stoker::cpu {

enum class Bfloat16 : uint8_t {
  none,      // float32 is as fast: products are computed in it
  emulated,  // asked for, in spite of that: for tests
  native,    // AVX512_BF16 or AMX
};
// STOKER_CPU_BFLOAT16=off in the environment asks for none, =on for emulation, which oneDNN has with
// AVX-512.
Bfloat16 bfloat16_products();
// How that differs from what the CPU would do unasked: ", bfloat16 on"; empty: in nothing.
std::string bfloat16_asked();

// Puts casts into the graph, so that 16-bit floats reach only nodes that move them, convert them, or
// multiply bfloat16; those multiply into float32. Nodes with products inside of them get the
// attribute "bfloat16". Returns how many nodes changed.
int widen(Graph& graph);

}  // namespace stoker::cpu
