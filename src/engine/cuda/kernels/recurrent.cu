#include "engine/cuda/kernels/recurrent.h"

#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

constexpr int kTile = 32, kTileRows = 8;
enum : int { kLstm, kGru, kTanh, kRelu };

// A tile of one gate's matrix, turned on its way. blockIdx.z: side · gates + gate.
template <class T>
__global__ void recurrent_weights(const __grid_constant__ RecurrentWeights c) {
  __shared__ T tile[kTile][kTile + 1];
  bool to_cudnn = c.way == RecurrentWeights::Way::to_cudnn;
  int side = int(blockIdx.z) / c.gates, gate = int(blockIdx.z) % c.gates;
  int extent = side == 0 ? c.features : c.units, columns = c.gates * c.units;
  T* ours = static_cast<T*>(side == 0 ? c.kernel : c.recurrent) + gate * c.units;
  T* theirs = static_cast<T*>(c.matrices[blockIdx.z]);
  int unit = int(blockIdx.x) * kTile, row = int(blockIdx.y) * kTile;
  int x = int(threadIdx.x) % kTile, y = int(threadIdx.x) / kTile;
  for (int i = y; i < kTile; i += kTileRows) {
    if (to_cudnn && row + i < extent && unit + x < c.units)
      tile[i][x] = ours[int64_t(row + i) * columns + unit + x];
    if (!to_cudnn && unit + i < c.units && row + x < extent)
      tile[i][x] = theirs[int64_t(unit + i) * extent + row + x];
  }
  __syncthreads();
  for (int i = y; i < kTile; i += kTileRows) {
    if (to_cudnn && unit + i < c.units && row + x < extent)
      theirs[int64_t(unit + i) * extent + row + x] = tile[x][i];
    if (!to_cudnn && row + i < extent && unit + x < c.units)
      ours[int64_t(row + i) * columns + unit + x] = tile[x][i];
  }
  if (blockIdx.y != 0 || y != 0 || unit + x >= c.units) return;
  T* vector = static_cast<T*>(c.vectors[blockIdx.z]) + unit + x;
  T* bias = static_cast<T*>(c.bias) + (side * c.gates + gate) * c.units + unit + x;
  bool has = side < c.biases;
  if (to_cudnn)
    *vector = has ? *bias : from_float<T>(0);
  else if (has)
    *bias = *vector;
}

__device__ inline float logistic(float x) {
  float e = expf(-fabsf(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

template <class T>
__device__ inline float at(const void* values, int64_t index) {
  return to_float(static_cast<const T*>(values)[index]);
}
template <class T>
__device__ inline void put(void* values, int64_t index, float value) {
  static_cast<T*>(values)[index] = from_float<T>(value);
}

template <class T>
__global__ void recurrent_step(const __grid_constant__ RecurrentStep c) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= int64_t(c.batch) * c.units) return;
  int64_t row = i / c.units, unit = i % c.units, y = row * c.y_stride + unit;
  if (c.mask != nullptr && !c.mask[row * c.mask_stride]) {
    static_cast<T*>(c.h)[i] = static_cast<const T*>(c.h_before)[i];
    if (c.cell == kLstm) c.c[i] = c.c_before[i];
    bool repeats = !c.zero_masked && c.y_before != nullptr;
    put<T>(c.y, y, repeats ? at<T>(c.y_before, y) : 0.0F);
    return;
  }
  int gates = c.cell == kLstm ? 4 : c.cell == kGru ? 3 : 1;
  float* g = c.gates + row * gates * c.units + unit;
  const float* p = c.product + row * gates * c.units + unit;
  int64_t n = c.units;
  // x · W + bias of a gate, and the recurrent bias of a gru's.
  auto input = [&](int gate) { return g[gate * n] + at<T>(c.bias, gate * n + unit); };
  auto inner = [&](int gate) { return p[gate * n] + at<T>(c.bias, (3 + gate) * n + unit); };
  float h;
  if (c.cell == kLstm) {
    float in = logistic(input(0) + p[0]), forget = logistic(input(1) + p[n]);
    float candidate = tanhf(input(2) + p[2 * n]), out = logistic(input(3) + p[3 * n]);
    float cell = forget * c.c_before[i] + in * candidate;
    g[0] = in;
    g[n] = forget;
    g[2 * n] = candidate;
    g[3 * n] = out;
    c.c[i] = cell;
    h = out * tanhf(cell);
  } else if (c.cell == kGru) {
    float update = logistic(input(0) + inner(0)), reset = logistic(input(1) + inner(1));
    float q = inner(2), candidate = tanhf(input(2) + reset * q);
    g[0] = update;
    g[n] = reset;
    g[2 * n] = candidate;
    c.c[i] = q;
    h = update * at<T>(c.h_before, i) + (1 - update) * candidate;
  } else {
    float x = input(0) + p[0];
    h = c.cell == kTanh ? tanhf(x) : x < 0 ? 0 : x;
    g[0] = h;
  }
  put<T>(c.h, i, h);
  put<T>(c.y, y, h);
}

template <class T>
__global__ void recurrent_step_back(const __grid_constant__ RecurrentStep c) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= int64_t(c.batch) * c.units) return;
  int64_t row = i / c.units, unit = i % c.units, n = c.units;
  float dh = c.dh[i] + (c.product != nullptr ? c.product[i] : 0.0F);
  float dy = at<T>(c.dy, row * c.y_stride + unit);
  int gates = c.cell == kLstm ? 4 : c.cell == kGru ? 3 : 1;
  int64_t first = row * gates * n + unit;
  if (c.mask != nullptr && !c.mask[row * c.mask_stride]) {
    c.dh[i] = dh;
    if (!c.zero_masked) c.repeated[i] += dy;
    for (int gate = 0; gate < gates; ++gate) {
      put<T>(c.dgates, first + gate * n, 0);
      put<T>(c.drecurrent, first + gate * n, 0);
    }
    return;
  }
  const float* g = c.gates + first;
  float gradient = dh + dy + c.repeated[i];
  c.repeated[i] = 0;
  float before = 0;
  if (c.cell == kLstm) {
    float in = g[0], forget = g[n], candidate = g[2 * n], out = g[3 * n], cell = tanhf(c.c[i]);
    float total = c.dc[i] + gradient * out * (1 - cell * cell);
    put<T>(c.dgates, first, total * candidate * in * (1 - in));
    put<T>(c.dgates, first + n, total * c.c_before[i] * forget * (1 - forget));
    put<T>(c.dgates, first + 2 * n, total * in * (1 - candidate * candidate));
    put<T>(c.dgates, first + 3 * n, gradient * cell * out * (1 - out));
    c.dc[i] = total * forget;
  } else if (c.cell == kGru) {
    float update = g[0], reset = g[n], candidate = g[2 * n];
    float through = gradient * (1 - update) * (1 - candidate * candidate);
    float du = gradient * (at<T>(c.h_before, i) - candidate) * update * (1 - update);
    float dr = through * c.c[i] * reset * (1 - reset);
    put<T>(c.dgates, first, du);
    put<T>(c.dgates, first + n, dr);
    put<T>(c.dgates, first + 2 * n, through);
    put<T>(c.drecurrent, first, du);
    put<T>(c.drecurrent, first + n, dr);
    put<T>(c.drecurrent, first + 2 * n, through * reset);
    before = gradient * update;
  } else {
    float through = g[0] > 0 ? gradient : 0.0F;
    put<T>(c.dgates, first, c.cell == kTanh ? gradient * (1 - g[0] * g[0]) : through);
  }
  c.dh[i] = before;
}

template <class From, class To>
__global__ void recurrent_convert(const From* from, To* to, int64_t count) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from == nullptr ? from_float<To>(0) : from_float<To>(to_float(from[i]));
}

__global__ void recurrent_add(float* to, const float* from, int64_t count) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] += from[i];
}

// 32 columns by 8 parts of the rows.
template <class T>
__global__ void recurrent_bias(const T* x, T* sums, int64_t rows, int64_t columns) {
  __shared__ float parts[kTileRows][kTile];
  int lane = int(threadIdx.x) % kTile, part = int(threadIdx.x) / kTile;
  int64_t column = int64_t(blockIdx.x) * kTile + lane;
  float sum = 0;
  for (int64_t row = part; row < rows && column < columns; row += kTileRows)
    sum += to_float(x[row * columns + column]);
  parts[part][lane] = sum;
  __syncthreads();
  if (part != 0 || column >= columns) return;
  for (int i = 1; i < kTileRows; ++i) sum += parts[i][lane];
  sums[column] = from_float<T>(sum);
}

}  // namespace

void run_recurrent_weights(const RecurrentWeights& call, cudaStream_t stream) {
  int extent = std::max(call.features, call.units);
  dim3 grid(blocks_for(call.units, kTile), blocks_for(extent, kTile), unsigned(2 * call.gates));
  visit_float(call.dtype, [&]<class T>(T) {
    recurrent_weights<T><<<grid, kTile * kTileRows, 0, stream>>>(call);
  });
  check_launch("recurrent_weights");
}

void run_recurrent_step(const RecurrentStep& call, cudaStream_t stream) {
  unsigned blocks = blocks_for(int64_t(call.batch) * call.units, kBlock);
  visit_float(call.dtype,
              [&]<class T>(T) { recurrent_step<T><<<blocks, kBlock, 0, stream>>>(call); });
  check_launch("recurrent_step");
}

void run_recurrent_step_back(const RecurrentStep& call, cudaStream_t stream) {
  unsigned blocks = blocks_for(int64_t(call.batch) * call.units, kBlock);
  visit_float(call.dtype,
              [&]<class T>(T) { recurrent_step_back<T><<<blocks, kBlock, 0, stream>>>(call); });
  check_launch("recurrent_step_back");
}

void run_recurrent_convert(DType from_dtype, const void* from, DType to_dtype, void* to,
                           int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  visit_float(from_dtype, [&]<class From>(From) {
    visit_float(to_dtype, [&]<class To>(To) {
      recurrent_convert<From, To><<<blocks_for(count, kBlock), kBlock, 0, stream>>>(
          static_cast<const From*>(from), static_cast<To*>(to), count);
    });
  });
  check_launch("recurrent_convert");
}

void run_recurrent_add(float* to, const float* from, int64_t count, cudaStream_t stream) {
  recurrent_add<<<blocks_for(count, kBlock), kBlock, 0, stream>>>(to, from, count);
  check_launch("recurrent_add");
}

void run_recurrent_bias(DType dtype, const void* x, void* sums, int64_t rows, int64_t columns,
                        cudaStream_t stream) {
  visit_float(dtype, [&]<class T>(T) {
    recurrent_bias<T><<<blocks_for(columns, kTile), kTile * kTileRows, 0, stream>>>(
        static_cast<const T*>(x), static_cast<T*>(sums), rows, columns);
  });
  check_launch("recurrent_bias");
}

}  // namespace stoker::cuda
