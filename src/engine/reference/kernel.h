// A kernel of the reference backend: a plain function over attributes, inputs and outputs, found by
// the name of its op. Outputs arrive sized and filled with zeros; the program rounds them to their
// dtype afterwards, so that a kernel only has to compute what docs/reference/ops.md says.
#pragma once

#include <map>
#include <span>
#include <string_view>

#include <stoker/attrs.h>
#include "engine/reference/array.h"

namespace stoker {
struct Node;
}

namespace stoker::reference {

struct Call {
  const Attrs& attrs;
  std::span<const Array* const> inputs;
  std::span<Array* const> outputs;
  Rounding rounding = Rounding::as_dtype;  // for kernels that run other ones

  const Array& in(size_t index) const { return *inputs[index]; }
  Array& out(size_t index = 0) const { return *outputs[index]; }
};

using Kernel = void (*)(const Call&);
using KernelTable = std::map<std::string_view, Kernel>;

const KernelTable& kernel_table();
Kernel find_kernel(const Node& node);  // Error where there is none

// One family per file.
void add_elementwise_kernels(KernelTable& table);
void add_reduction_kernels(KernelTable& table);
void add_shape_kernels(KernelTable& table);
void add_matmul_kernels(KernelTable& table);
void add_convolution_kernels(KernelTable& table);
void add_pooling_kernels(KernelTable& table);
void add_normalization_kernels(KernelTable& table);
void add_softmax_kernels(KernelTable& table);
void add_lookup_kernels(KernelTable& table);
void add_order_kernels(KernelTable& table);
void add_matrix_kernels(KernelTable& table);
void add_random_kernels(KernelTable& table);
void add_augment_kernels(KernelTable& table);
void add_optimizer_kernels(KernelTable& table);
void add_host_kernels(KernelTable& table);
void add_recurrent_kernels(KernelTable& table);
void add_scan_kernels(KernelTable& table);
void add_attention_kernels(KernelTable& table);
void add_decoding_kernels(KernelTable& table);
void add_quantized_kernels(KernelTable& table);

}  // namespace stoker::reference
