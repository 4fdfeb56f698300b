#include "engine/cpu/isa/table.h"

#include "engine/cpu/isa/families.h"

namespace stoker::cpu::STOKER_ISA {

KernelTable make_table() {
  KernelTable table = {};
  table.name = isa::STOKER_ISA::kName;
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

namespace stoker::cpu {

void fill_table(KernelTable& table, isa::STOKER_ISA) { table = STOKER_ISA::make_table(); }

}  // namespace stoker::cpu
