#include "engine/cuda/kernels/attention_hopper_launch.cuh"

namespace stoker::cuda {

namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

Encode encoder() {
  static const Encode found = [] {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000,
                                           cudaEnableDefault, &result),
          "cuTensorMapEncodeTiled");
    if (result != cudaDriverEntryPointSuccess) fail("cuTensorMapEncodeTiled", "not in the driver");
    return reinterpret_cast<Encode>(address);
  }();
  return found;
}

// Heads [batch, length, heads, dim] in boxes of 64 rows by 64 dims of one head.
CUtensorMap map_of(DType dtype, const void* data, int64_t batch, int64_t length, int64_t heads,
                   int64_t dim, int64_t pitch) {
  CUtensorMap map{};
  auto bytes = cuuint64_t(size_of(dtype));
  cuuint64_t extents[] = {cuuint64_t(dim), cuuint64_t(heads), cuuint64_t(length),
                          cuuint64_t(batch)};
  cuuint64_t strides[] = {cuuint64_t(dim) * bytes, cuuint64_t(pitch) * bytes,
                          cuuint64_t(length * pitch) * bytes};
  cuuint32_t box[] = {64, 1, 64, 1}, steps[] = {1, 1, 1, 1};
  CUresult result = encoder()(
      &map,
      dtype == DType::float16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
      4, const_cast<void*>(data), extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    fail("cuTensorMapEncodeTiled", "error " + std::to_string(int(result)));
  return map;
}

bool is_hopper() {
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "a GPU's kind");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "a GPU's kind");
  return major == 9 && minor == 0;
}

// Elements of the batch in a part.
int64_t part_of(const AttentionCall& c, bool gradient) {
  if (c.rate == 0) return c.batch;
  return std::min(c.batch, std::max<int64_t>(int64_t(kMostKept / kept_bits_bytes(c, gradient)), 1));
}
size_t kept_bytes(const AttentionCall& c, bool gradient) {
  if (c.rate == 0) return 0;
  size_t bytes = size_t(part_of(c, gradient)) * kept_bits_bytes(c, gradient);
  return (bytes + 255) / 256 * 256;
}

int64_t stats_pitch(const AttentionCall& c) { return (c.queries + 127) / 128 * 128; }

}  // namespace

HopperCall prepare_hopper(const AttentionCall& c, bool by_keys, void* bits, cudaStream_t stream) {
  HopperCall h;
  h.q = map_of(c.dtype, c.q, c.batch, c.queries, c.heads, c.dim, c.q_pitch);
  h.k = map_of(c.dtype, c.k, c.batch, c.keys, c.kv_heads, c.dim, c.k_pitch);
  h.v = map_of(c.dtype, c.v, c.batch, c.keys, c.kv_heads, c.value_dim, c.v_pitch);
  if (c.dout != nullptr)
    h.dout =
        map_of(c.dtype, c.dout, c.batch, c.queries, c.heads, c.value_dim, c.heads * c.value_dim);
  h.c = c;
  h.seen = seen_bits(c, by_keys, bits);
  run_seen_bits(c, by_keys, h.seen, stream);
  h.scale2 = c.scale * kLog2e;
  h.scaled_first = (c.masked && c.bias) || !(h.scale2 > 0);
  h.factor = h.scaled_first ? 1 : h.scale2;
  const int64_t* strides = c.mask_strides;
  h.bias_pairs = strides[3] == 1 && strides[0] % 2 == 0 && strides[1] % 2 == 0 &&
                 strides[2] % 2 == 0 && reinterpret_cast<uintptr_t>(c.mask) % 4 == 0;
  h.stats_pitch = int(stats_pitch(c));
  return h;
}

void each_part(const AttentionCall& call, bool gradient, cudaStream_t stream,
               const std::function<void(const AttentionCall&, const KeptBits&, void*)>& function) {
  char* rest = static_cast<char*>(call.scratch) + kept_bytes(call, gradient);
  int64_t size = part_of(call, gradient), bytes = int64_t(size_of(call.dtype));
  for (int64_t first = 0; first < call.batch; first += size) {
    AttentionCall part = call;
    part.batch = std::min(size, call.batch - first);
    auto move = [&]<class Address>(Address& address, int64_t step) {
      auto* at = static_cast<char*>(const_cast<void*>(static_cast<const void*>(address)));
      if (at != nullptr) address = at + first * step;
    };
    int64_t out = call.queries * call.heads * call.value_dim * bytes;
    move(part.q, call.queries * call.q_pitch * bytes);
    move(part.k, call.keys * call.k_pitch * bytes);
    move(part.v, call.keys * call.v_pitch * bytes);
    move(part.dq, call.queries * call.q_pitch * bytes);
    move(part.dk, call.keys * call.k_pitch * bytes);
    move(part.dv, call.keys * call.v_pitch * bytes);
    move(part.dout, out);
    move(part.out, out);
    if (part.lse != nullptr) part.lse += first * call.heads * call.queries;
    move(part.mask, call.mask_strides[0] * (call.bias ? bytes : 1));
    KeptBits kept;
    if (call.rate > 0) {
      kept.by_queries = static_cast<uint2*>(call.scratch);
      if (gradient)
        kept.by_keys =
            kept.by_queries + size_t(part.batch) * kept_bits_bytes(call, false) / sizeof(uint2);
      run_kept_bits(part, first, kept, stream);
    }
    function(part, kept, rest);
  }
}

bool hopper_attention_takes(const AttentionCall& c) {
  auto fits = [](int64_t dim) { return dim > 0 && dim <= 128 && dim % 8 == 0; };
  return c.dtype != DType::float32 && c.batch > 0 && c.queries > 0 && c.keys > 0 && fits(c.dim) &&
         fits(c.value_dim) && c.aligned && c.q_pitch % 8 == 0 && c.k_pitch % 8 == 0 &&
         c.v_pitch % 8 == 0 && (c.rate == 0 || kept_bits_bytes(c, true) <= kMostKept) &&
         is_hopper();
}

size_t hopper_attention_scratch(const AttentionCall& c, bool gradient) {
  size_t bytes = kept_bytes(c, gradient) + seen_bits(c, false, nullptr).bytes;
  if (gradient)
    bytes += seen_bits(c, true, nullptr).bytes +
             size_t(c.batch * c.heads * stats_pitch(c)) * sizeof(float2);
  return bytes;
}

}  // namespace stoker::cuda
