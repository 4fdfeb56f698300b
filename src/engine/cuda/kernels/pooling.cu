#include "engine/cuda/kernels/pooling.h"

#include "engine/cuda/kernels/windows.cuh"

namespace stoker::cuda {

namespace {

enum class Pool : uint8_t { max, max_grad, average, average_grad };

template <class T, int N>
__device__ void pool_forward(const PoolCall& c, Pool what, int b, int row, int column, int channel,
                             float* result, uint8_t* places) {
  const T* x = static_cast<const T*>(c.x);
  Range rows = inside_image(row, c.stride_y, c.top, c.window_y, c.height);
  Range columns = inside_image(column, c.stride_x, c.left, c.window_x, c.width);
  bool is_max = what == Pool::max, first = true;
#pragma unroll
  for (int i = 0; i < N; ++i) result[i] = is_max ? std::numeric_limits<float>::lowest() : 0;
  for (int r = rows.begin; r < rows.end; ++r)
    for (int q = columns.begin; q < columns.end; ++q) {
      float values[N];
      load_floats<N>(x + ((int64_t(b) * c.height + r) * c.width + q) * c.channels + channel,
                     values);
      int place =
          (r - (row * c.stride_y - c.top)) * c.window_x + q - (column * c.stride_x - c.left);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        bool wins = first || beats(values[i], result[i]);
        if (is_max && wins) places[i] = uint8_t(place);
        result[i] = !is_max ? result[i] + values[i] : wins ? values[i] : result[i];
      }
      first = false;
    }
  int count = max(rows.end - rows.begin, 0) * max(columns.end - columns.begin, 0);
  if (!is_max && count > 0)
#pragma unroll
    for (int i = 0; i < N; ++i) result[i] /= float(count);
}

// Whether no pixel of the window before (row, column) holds the same number.
template <class T>
__device__ bool is_first(const PoolCall& c, Range rows, Range columns, int b, int row, int column,
                         int channel, float value) {
  const T* x = static_cast<const T*>(c.x);
  for (int r = rows.begin; r <= row; ++r)
    for (int q = columns.begin; q < (r == row ? column : columns.end); ++q)
      if (to_float(x[((int64_t(b) * c.height + r) * c.width + q) * c.channels + channel]) == value)
        return false;
  return true;
}

template <class T, int N>
__device__ void pool_backward(const PoolCall& c, Pool what, int b, int row, int column, int channel,
                              float* result) {
  float mine[N] = {};
  bool is_max = what == Pool::max_grad;
  if (is_max && c.places == nullptr)
    load_floats<N>(static_cast<const T*>(c.x) +
                       ((int64_t(b) * c.height + row) * c.width + column) * c.channels + channel,
                   mine);
#pragma unroll
  for (int i = 0; i < N; ++i) result[i] = 0;
  Range out_rows = windows_of(row, c.stride_y, c.top, c.window_y, c.out_height);
  Range out_columns = windows_of(column, c.stride_x, c.left, c.window_x, c.out_width);
  for (int out_row = out_rows.begin; out_row < out_rows.end; ++out_row)
    for (int out_column = out_columns.begin; out_column < out_columns.end; ++out_column) {
      int64_t at =
          ((int64_t(b) * c.out_height + out_row) * c.out_width + out_column) * c.channels + channel;
      Range rows = inside_image(out_row, c.stride_y, c.top, c.window_y, c.height);
      Range columns = inside_image(out_column, c.stride_x, c.left, c.window_x, c.width);
      float slopes[N], most[N];
      load_floats<N>(static_cast<const T*>(c.dy) + at, slopes);
      if (!is_max) {
        float count = float((rows.end - rows.begin) * (columns.end - columns.begin));
#pragma unroll
        for (int i = 0; i < N; ++i) result[i] += slopes[i] / count;
        continue;
      }
      if (c.places != nullptr) {
        Pack<uint8_t, N> places = *reinterpret_cast<const Pack<uint8_t, N>*>(c.places + at);
        int mine_in_it = (row - (out_row * c.stride_y - c.top)) * c.window_x + column -
                         (out_column * c.stride_x - c.left);
#pragma unroll
        for (int i = 0; i < N; ++i) {
          int place = c.relu ? places.at[i] : places.at[i] & (PoolCall::kNotPositive - 1);
          if (place == mine_in_it) result[i] += slopes[i];
        }
        continue;
      }
      load_floats<N>(static_cast<const T*>(c.y) + at, most);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (mine[i] != most[i] || (c.relu && mine[i] <= 0)) continue;
        if (is_first<T>(c, rows, columns, b, row, column, channel + i, mine[i]))
          result[i] += slopes[i];
      }
    }
}

// A thread makes N channels of one pixel: of y forwards, of dx backwards.
template <class T, int N, Pool What>
__global__ void __launch_bounds__(kBlock) pool(const __grid_constant__ PoolCall c) {
  constexpr bool kForward = What == Pool::max || What == Pool::average;
  int height = kForward ? c.out_height : c.height, width = kForward ? c.out_width : c.width;
  int groups = c.channels / N;
  // Divisions of 64 bits would cost more than the pooling.
  auto total = unsigned(int64_t(c.batch) * height * width * groups);
  for (unsigned item = blockIdx.x * kBlock + threadIdx.x; item < total;
       item += gridDim.x * kBlock) {
    int channel = int(item % unsigned(groups)) * N;
    unsigned pixel = item / unsigned(groups);
    int column = int(pixel % unsigned(width)), row = int(pixel / unsigned(width));
    int b = row / height;
    row %= height;
    float result[N];
    if constexpr (kForward) {
      Pack<uint8_t, N> places{};
      pool_forward<T, N>(c, What, b, row, column, channel, result, places.at);
      if (c.places != nullptr) {
#pragma unroll
        for (int i = 0; i < N; ++i)
          if (!(result[i] > 0)) places.at[i] |= PoolCall::kNotPositive;
        *reinterpret_cast<Pack<uint8_t, N>*>(c.places + int64_t(item) * N) = places;
      }
    } else
      pool_backward<T, N>(c, What, b, row, column, channel, result);
    store_floats<N>(result, static_cast<T*>(c.out) + int64_t(item) * N);
  }
}

// Max pooling's gradient from places, stride 2: a thread makes N channels of a quad.
template <class T, int N>
__global__ void __launch_bounds__(kBlock) max_pool_grad_quads(const __grid_constant__ PoolCall c) {
  auto groups = unsigned(c.channels / N);
  auto total = unsigned(Quad::count(c)) * groups;
  for (unsigned item = blockIdx.x * kBlock + threadIdx.x; item < total;
       item += gridDim.x * kBlock) {
    int channel = int(item % groups) * N;
    Quad quad(c, item / groups);
    QuadWindows<T, N> windows(c, quad, channel);
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      if (!quad.has(c, p)) continue;
      float result[N];
      windows.gather(c, quad, p, result);
      store_floats<N>(result, static_cast<T*>(c.out) + quad.at(c, p) + channel);
    }
  }
}

void launch_quads(const PoolCall& call, cudaStream_t stream) {
  int64_t items = Quad::count(call) * call.channels;
  visit_float(call.dtype, [&]<class T>(T) {
    constexpr int kWide = kLanes<T>;
    if (call.channels % kWide == 0)
      max_pool_grad_quads<T, kWide><<<blocks_for(items / kWide, kBlock), kBlock, 0, stream>>>(call);
    else
      max_pool_grad_quads<T, 1><<<blocks_for(items, kBlock), kBlock, 0, stream>>>(call);
  });
  check_launch("max_pool_grad_quads");
}

template <Pool What>
void launch(const PoolCall& call, int64_t pixels, cudaStream_t stream) {
  if (pixels * call.channels == 0) return;
  if (pixels * call.channels >= int64_t(1) << 31)
    throw CudaError("pooling: more than 2^31 elements; a smaller batch would do");
  visit_float(call.dtype, [&]<class T>(T) {
    if (call.channels % kLanes<T> == 0)
      pool<T, kLanes<T>, What>
          <<<blocks_for(pixels * call.channels / kLanes<T>, kBlock), kBlock, 0, stream>>>(call);
    else
      pool<T, 1, What><<<blocks_for(pixels * call.channels, kBlock), kBlock, 0, stream>>>(call);
  });
  check_launch("pool");
}

int64_t in_pixels(const PoolCall& c) { return int64_t(c.batch) * c.height * c.width; }
int64_t out_pixels(const PoolCall& c) { return int64_t(c.batch) * c.out_height * c.out_width; }

}  // namespace

void run_max_pool(const PoolCall& call, cudaStream_t stream) {
  launch<Pool::max>(call, out_pixels(call), stream);
}
void run_max_pool_grad(const PoolCall& call, cudaStream_t stream) {
  bool small = in_pixels(call) * call.channels < int64_t(1) << 31;
  bool in_quads = call.stride_y == 2 && call.stride_x == 2 && call.window_y <= 3 &&
                  call.window_x <= 3 && call.places != nullptr;
  if (in_quads && small && in_pixels(call) * call.channels > 0) return launch_quads(call, stream);
  launch<Pool::max_grad>(call, in_pixels(call), stream);
}
void run_avg_pool(const PoolCall& call, cudaStream_t stream) {
  launch<Pool::average>(call, out_pixels(call), stream);
}
void run_avg_pool_grad(const PoolCall& call, cudaStream_t stream) {
  launch<Pool::average_grad>(call, in_pixels(call), stream);
}

}  // namespace stoker::cuda
