// oneDNN 2.6 to 3.x in one set of words, those of 3.x: the only place that asks for its version.
#pragma once

#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

namespace stoker::cpu {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

const dnnl::engine& cpu_engine();
// oneDNN 2.6's int8 convolutions and products on AMX use tiles that are not configured, and an illegal
// instruction ends the process: before version 3 it stops at AVX512_BF16. ONEDNN_MAX_CPU_ISA, where it
// is set, decides. To be called before oneDNN is asked for anything.
void limit_isa();

#if DNNL_VERSION_MAJOR >= 3
inline constexpr bool kOneDnn3 = true;
#else
inline constexpr bool kOneDnn3 = false;
#endif

// The description of a primitive; `arguments` are those of oneDNN's own constructor.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe(const dnnl::primitive_attr& attr,
                                            const Arguments&... arguments) {
  if constexpr (kOneDnn3)
    return typename Primitive::primitive_desc(cpu_engine(), arguments..., attr);
  else
    return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), attr,
                                              cpu_engine());
}

// The same for a gradient, which takes the forward primitive as a hint.
template <class Primitive, class Hint, class... Arguments>
typename Primitive::primitive_desc describe_gradient(const dnnl::primitive_attr& attr,
                                                     const Hint& hint,
                                                     const Arguments&... arguments) {
  if constexpr (kOneDnn3)
    return typename Primitive::primitive_desc(cpu_engine(), arguments..., hint, attr);
  else
    return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), attr,
                                              cpu_engine(), hint);
}

inline void append_elementwise(dnnl::post_ops& operations, dnnl::algorithm algorithm, float alpha,
                               float beta) {
#if DNNL_VERSION_MAJOR >= 3
  operations.append_eltwise(algorithm, alpha, beta);
#else
  operations.append_eltwise(1, algorithm, alpha, beta);
#endif
}

// A relu, with a slope below 0, behind whatever the primitive computes.
inline dnnl::post_ops relu_behind(float slope) {
  dnnl::post_ops operations;
  append_elementwise(operations, dnnl::algorithm::eltwise_relu, slope, 0);
  return operations;
}

// Products of integers: sums and bias times one number per channel of the result. False: it cannot be
// told before a run (3.x), and a product with a vector has to follow. That is slower in 2.6, where a
// light convolution then takes twice as long.
inline bool set_channel_scales(dnnl::primitive_attr& attr, const std::vector<float>& scales) {
#if DNNL_VERSION_MAJOR >= 3
  return (void)attr, (void)scales, false;
#else
  constexpr int kSecondAxis = 1 << 1;
  attr.set_output_scales(kSecondAxis, scales);
  return true;
#endif
}

// Whether products of uint8 with int8 are summed in 32 bits at once. Elsewhere pairs are added in 16
// bits first, which 2 · 255 · 127 does not fit into.
inline bool adds_products_exactly() {
  auto has = [isa = unsigned(dnnl::get_effective_cpu_isa())](dnnl::cpu_isa wanted) {
    return (isa & unsigned(wanted)) == unsigned(wanted);
  };
  return has(dnnl::cpu_isa::avx512_core_vnni) || has(dnnl::cpu_isa::avx2_vnni);
}

// How the elements of a tensor lie in memory.
struct Blocks {
  bool blocked = false;  // in strides and inner blocks; else nothing below holds
  dnnl::memory::data_type type = dnnl::memory::data_type::undef;
  int64_t offset = 0;
  Dims dims, padded, strides;
  Dims inner_sizes, inner_axes;  // of the inner blocks, outermost first
};

inline Blocks blocks_of(const Desc& desc) {
  Blocks blocks;
#if DNNL_VERSION_MAJOR >= 3
  blocks.dims = desc.get_dims();
  blocks.padded = desc.get_padded_dims();
  blocks.type = desc.get_data_type();
  blocks.offset = desc.get_submemory_offset();
  blocks.blocked = desc.get_format_kind() == dnnl::memory::format_kind::blocked;
  if (!blocks.blocked) return blocks;
  blocks.strides = desc.get_strides();
  blocks.inner_sizes = desc.get_inner_blks();
  blocks.inner_axes = desc.get_inner_idxs();
#else
  const dnnl_memory_desc_t& data = desc.data;
  const dnnl_blocking_desc_t& blocking = data.format_desc.blocking;
  blocks.dims = desc.dims();
  blocks.padded.assign(data.padded_dims, data.padded_dims + data.ndims);
  blocks.type = dnnl::memory::data_type(data.data_type);
  blocks.offset = data.offset0;
  blocks.blocked = data.format_kind == dnnl_blocked;
  if (!blocks.blocked) return blocks;
  blocks.strides.assign(blocking.strides, blocking.strides + data.ndims);
  blocks.inner_sizes.assign(blocking.inner_blks, blocking.inner_blks + blocking.inner_nblks);
  blocks.inner_axes.assign(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks);
#endif
  return blocks;
}

inline Dims dims_of(const Desc& desc) { return blocks_of(desc).dims; }

}  // namespace stoker::cpu
