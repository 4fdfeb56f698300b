#include "engine/cpu/isa/families.h"

#define STOKER_TEXT(x) #x
#define STOKER_NAME(x) STOKER_TEXT(x)

namespace stoker::cpu::STOKER_ISA {

KernelTable make_table() {
  KernelTable table = {};
  table.name = STOKER_NAME(STOKER_ISA);
  add_elementwise(table);
  add_convert(table);
  add_reductions(table);
  add_softmax(table);
  add_batch_norm(table);
  add_layer_norm(table);
  add_pooling(table);
  add_stem(table);
  add_weight_grad(table);
  add_depthwise(table);
  add_gemm(table);
  add_optimizers(table);
  add_random(table);
  add_recurrent(table);
  add_attention(table);
  add_decoding(table);
  return table;
}

}  // namespace stoker::cpu::STOKER_ISA
