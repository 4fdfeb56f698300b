#include "engine/reference/kernel.h"

namespace stoker::reference {

const KernelTable& kernel_table() {
  static const KernelTable table = [] {
    KernelTable all;
    add_elementwise_kernels(all);
    add_reduction_kernels(all);
    add_shape_kernels(all);
    add_matmul_kernels(all);
    add_convolution_kernels(all);
    add_pooling_kernels(all);
    add_normalization_kernels(all);
    add_softmax_kernels(all);
    add_lookup_kernels(all);
    add_order_kernels(all);
    add_matrix_kernels(all);
    add_random_kernels(all);
    add_augment_kernels(all);
    add_optimizer_kernels(all);
    add_host_kernels(all);
    add_recurrent_kernels(all);
    add_scan_kernels(all);
    add_attention_kernels(all);
    add_decoding_kernels(all);
    add_quantized_kernels(all);
    return all;
  }();
  return table;
}

}  // namespace stoker::reference
