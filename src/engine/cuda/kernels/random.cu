// Compiled without fused multiply-adds (CMakeLists.txt): base/draws.h says why.
#include "engine/cuda/kernels/random.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

__global__ void draw_numbers(const __grid_constant__ RandomCall c) {
  const auto seed = uint64_t(c.state[0]);
  const uint64_t sequence = uint64_t(c.state[1]) * 65536 + uint64_t(c.stream_number);
  for (int64_t i = int64_t(blockIdx.x) * kBlock + threadIdx.x; i < c.elements;
       i += int64_t(gridDim.x) * kBlock) {
    if (c.draw.fn == draws::Fn::integer) {
      static_cast<int64_t*>(c.y)[i] = draws::integer(c.draw, seed, sequence, uint64_t(i));
      continue;
    }
    const double parameter = c.parameter != nullptr ? double(c.parameter[i]) : 0,
                 second = c.second != nullptr ? double(c.second[i]) : 0;
    static_cast<float*>(c.y)[i] = draws::stored(
        c.draw, draws::number(c.draw, seed, sequence, uint64_t(i), parameter, second));
  }
}

}  // namespace

void run_random(const RandomCall& call, cudaStream_t stream) {
  if (call.elements == 0) return;
  draw_numbers<<<blocks_for(call.elements, kBlock, 132 * 16), kBlock, 0, stream>>>(call);
  check_launch("random");
}

}  // namespace stoker::cuda
