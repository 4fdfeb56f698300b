#include "engine/cuda/kernels/update.h"

#include "engine/cuda/kernels/last_block.cuh"
#include "engine/cuda/kernels/update_math.cuh"

namespace stoker::cuda {

namespace {

constexpr int64_t kChunk = 1024;         // elements of a block
constexpr int64_t kSquaresChunk = 8192;  // of a block that only reads them

int64_t chunk_of(UpdateRule rule) { return rule == UpdateRule::squares ? kSquaresChunk : kChunk; }

__device__ inline int find_item(const int* first_block, int count, int block) {
  int low = 0, high = count;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    (first_block[middle] <= block ? low : high) = middle;
  }
  return low;
}

// Of a short list: all at once, where a search would wait for each of its looks.
template <class List>
__device__ inline int find_item(const List& list, int block) {
  if constexpr (List::kMost > 16) {
    return find_item(list.first_block, list.count, block);
  } else {
    int which = 0;
#pragma unroll
    for (int i = 1; i < List::kMost; ++i) which += i < list.count && list.first_block[i] <= block;
    return which;
  }
}

static_assert(kChunk == kBlock * 4, "a thread has four elements");

// Elements are read before it is known whether they will change: one wait instead of two.
template <class List>
__global__ void __launch_bounds__(kBlock) update(const __grid_constant__ List c) {
  int which = find_item(c, int(blockIdx.x));
  const UpdateItem& item = c.item[which];
  int64_t begin = int64_t(int(blockIdx.x) - c.first_block[which]) * kChunk;
  int64_t end = min(begin + kChunk, item.elements), at = begin + threadIdx.x * 4;
  UpdateElements<4> four;
  if (at + 4 <= end) four.load(item, at);
  int enabled = c.enabled != nullptr ? *c.enabled : 1;
  UpdateTerms terms = update_terms(c, which);
  if (enabled == 0) return;
  if (at + 4 <= end) {
    four.update(c, terms);
    four.store(item, at);
  } else {
    for (int64_t rest = at; rest < end; ++rest) {
      UpdateElements<1> one;
      one.load(item, rest);
      one.update(c, terms);
      one.store(item, rest);
    }
  }
}

// Of numbers that lie side by side, all loads of a thread in flight at once. A float would overflow
// at 1e19, which is finite.
template <class T>
__device__ double squares_of(const T* g, int64_t begin, int64_t end) {
  constexpr int kWide = kLanes<T>, kStep = kBlock * kWide, kInFlight = int(kSquaresChunk) / kStep;
  RawPack<T, kWide> loaded[kInFlight];
  double sum = 0;
  const int64_t first = begin + int64_t(threadIdx.x) * kWide;
#pragma unroll
  for (int u = 0; u < kInFlight; ++u)
    if (int64_t at = first + u * kStep; at + kWide <= end) loaded[u] = load_pack<T, kWide>(g + at);
  auto add = [&](float one) { sum += double(one) * double(one); };
#pragma unroll
  for (int u = 0; u < kInFlight; ++u) {
    int64_t at = first + u * kStep;
    if (at + kWide <= end) {
      float numbers[kWide];
      to_floats<T, kWide>(loaded[u], numbers);
#pragma unroll
      for (int i = 0; i < kWide; ++i) add(numbers[i]);
    } else {
      for (; at < end; ++at) add(to_float(g[at]));
    }
  }
  return sum;
}

// Of a kernel's gradient in cuDNN's order, which may have channels of padding.
__device__ double squares_of_turned(const UpdateItem& item, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t at = begin + threadIdx.x * 4; at < end; at += kBlock * 4) {
    UpdateElements<4> four;  // filters are a multiple of four
    four.load_gradient(item, at);
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += double(four.g[i]) * double(four.g[i]);
  }
  return sum;
}

// Of this block's gradients, in its first thread.
template <class List>
__device__ double sum_of_squares(const List& c) {
  int which = find_item(c, int(blockIdx.x));
  const UpdateItem& item = c.item[which];
  int64_t begin = int64_t(int(blockIdx.x) - c.first_block[which]) * kSquaresChunk;
  int64_t end = min(begin + kSquaresChunk, item.elements);
  double sum = item.filters != 0 ? squares_of_turned(item, begin, end)
               : item.gradient_dtype == DType::float32
                   ? squares_of(static_cast<const float*>(item.g), begin, end)
               : item.gradient_dtype == DType::float16
                   ? squares_of(static_cast<const Half*>(item.g), begin, end)
                   : squares_of(static_cast<const Bfloat*>(item.g), begin, end);
  return block_reduce(sum, 0.0, Plus());
}

template <class List>
__global__ void __launch_bounds__(kBlock) squares(const __grid_constant__ List c) {
  double sum = sum_of_squares(c);
  if (threadIdx.x == 0) c.sums[blockIdx.x] = sum;
}

// By one block.
__device__ void make_scales(const ClipTerms& c, const double* sums, const int* first_block) {
  __shared__ double norm;
  double all = 0;
  for (int i = int(threadIdx.x); i < first_block[c.count]; i += int(blockDim.x)) all += sums[i];
  all = block_reduce(all, 0.0, Plus());
  double factor = c.loss_scale != nullptr ? 1 / double(*c.loss_scale) : 1;
  if (threadIdx.x == 0) {
    norm = sqrt(all);
    *c.norm = float(factor * norm);
  }
  __syncthreads();
  for (int which = int(threadIdx.x); which < c.count; which += int(blockDim.x)) {
    double own = 0;
    if (!c.global)
      for (int i = first_block[which]; i < first_block[which + 1]; ++i) own += sums[i];
    double length = factor * (c.global ? norm : sqrt(own));
    // Not fmax: NaN passes.
    c.scales[which] = float(factor * c.max_norm / (length < c.max_norm ? c.max_norm : length));
  }
}

__global__ void __launch_bounds__(kBlock) clip_scales(const __grid_constant__ ClipCall c) {
  make_scales(c, c.sums, c.first_block);
}

// By one thread.
__device__ void close_gate(const GuardCall& c) {
  if (c.guard != nullptr && !isfinite(*c.guard) && *c.latch == 0) {
    *c.latch = 1;
    *c.bad_program = c.program;
    __threadfence_system();
    *c.bad_run = *c.run;
  }
  bool open = *c.latch == 0;
  c.enabled[0] = open && (c.gate == nullptr || isfinite(*c.gate));
  c.enabled[1] = open;
  ++*c.run;
}

__global__ void guard(const GuardCall c) { close_gate(c); }

using FewGradients = UpdateListOf<NormsCall::kMost>;

__global__ void __launch_bounds__(kBlock)
    norms(const __grid_constant__ FewGradients gradients, const __grid_constant__ NormsCall c) {
  double sum = sum_of_squares(gradients);
  if (threadIdx.x == 0) gradients.sums[blockIdx.x] = sum;
  if (!is_last_block(c.counter, gridDim.x)) return;
  make_scales(c, gradients.sums, gradients.first_block);
  if (threadIdx.x != 0 || c.loss == nullptr) return;
  *c.guard_value = *c.loss + *c.norm * 0.0F;
  if (c.guard.enabled != nullptr) close_gate(c.guard);
}

__global__ void loss_scale(const LossScaleCall c) {
  float scale = *c.scale, alarm = 0;
  int64_t good = *c.good, skipped = *c.skipped;
  if (!isfinite(*c.norm)) {
    if (scale <= c.min_scale) alarm = nanf("");
    scale = scale / 2 < c.min_scale ? c.min_scale : scale / 2;  // NaN stays NaN
    good = min(good, int64_t(0)) - 1;
    ++skipped;
  } else if ((good = max(good, int64_t(0)) + 1) >= c.growth_steps) {
    scale = scale * 2 > c.max_scale ? c.max_scale : scale * 2;
    good = 0;
  }
  *c.next_scale = scale;
  *c.next_good = good;
  *c.next_skipped = skipped;
  *c.alarm = alarm;
}

constexpr int64_t kCopyBytes = 16384;  // of a block

__global__ void __launch_bounds__(kBlock) copy_bytes(const __grid_constant__ CopyList c) {
  int which = find_item(c.first_block, c.count, int(blockIdx.x));
  if (c.enabled != nullptr && c.enabled[c.always[which] ? 1 : 0] == 0) return;
  int64_t begin = int64_t(int(blockIdx.x) - c.first_block[which]) * kCopyBytes;
  int64_t bytes = min(kCopyBytes, c.size[which] - begin);
  const char* from = static_cast<const char*>(c.from[which]) + begin;
  char* to = static_cast<char*>(c.to[which]) + begin;
  int64_t whole = bytes / 16;
  for (int64_t i = threadIdx.x; i < whole; i += kBlock)
    reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
  for (int64_t i = whole * 16 + threadIdx.x; i < bytes; i += kBlock) to[i] = from[i];
}

constexpr int64_t kConverted = 2048;  // elements of a block

template <class From, class To>
__global__ void __launch_bounds__(kBlock) copy_floats(const __grid_constant__ CopyList c) {
  constexpr int kWide = 4, kStep = kBlock * kWide, kInFlight = int(kConverted) / kStep;
  int which = find_item(c.first_block, c.count, int(blockIdx.x));
  int64_t first =
      int64_t(int(blockIdx.x) - c.first_block[which]) * kConverted + int64_t(threadIdx.x) * kWide;
  const int64_t size = c.size[which];
  const From* from = static_cast<const From*>(c.from[which]);
  To* to = static_cast<To*>(c.to[which]);
  float values[kInFlight][kWide] = {};
#pragma unroll
  for (int u = 0; u < kInFlight; ++u)
    if (int64_t at = first + u * kStep; at + kWide <= size)
      load_floats<kWide>(from + at, values[u]);
#pragma unroll
  for (int u = 0; u < kInFlight; ++u) {
    int64_t at = first + u * kStep;
    if (at + kWide <= size)
      store_floats<kWide>(values[u], to + at);
    else
      for (int64_t k = at; k < size; ++k) to[k] = from_float<To>(to_float(from[k]));
  }
}

template <class T>
__global__ void find_non_finite(const T* data, int64_t elements, int* bad) {
  for (int64_t i = int64_t(blockIdx.x) * kBlock + threadIdx.x; i < elements;
       i += int64_t(gridDim.x) * kBlock)
    if (!isfinite(to_float(data[i]))) *bad = 1;  // all that write, write the same
}

}  // namespace

template <>
void UpdateList::add(const UpdateItem& one) {
  const int64_t chunk = chunk_of(rule);
  if (count == 0) first_block[0] = 0;
  item[count] = one;
  // An item without elements still gets a block, so that its sum of squares is written.
  first_block[count + 1] =
      first_block[count] + int(std::max<int64_t>(1, (one.elements + chunk - 1) / chunk));
  ++count;
}

namespace {

using ShortList = UpdateListOf<16>;
static_assert(std::is_same_v<ShortList, FewGradients>, "norms() takes a short list");

ShortList shortened(const UpdateList& list) {
  ShortList made;
  static_cast<UpdateOptions&>(made) = list;
  std::copy_n(list.item, list.count, made.item);
  std::copy_n(list.first_block, list.count + 1, made.first_block);
  return made;
}

template <class List>
void launch_update(const List& list, cudaStream_t stream) {
  auto grid = unsigned(list.first_block[list.count]);
  if (list.rule == UpdateRule::squares)
    squares<<<grid, kBlock, 0, stream>>>(list);
  else
    update<<<grid, kBlock, 0, stream>>>(list);
}

}  // namespace

void run_update(const UpdateList& list, cudaStream_t stream) {
  if (list.count == 0) return;
  if (list.count <= ShortList::kMost)
    launch_update(shortened(list), stream);
  else
    launch_update(list, stream);
  check_launch("update");
}

void run_clip_scales(const ClipCall& call, cudaStream_t stream) {
  clip_scales<<<1, kBlock, 0, stream>>>(call);
  check_launch("clip_scales");
}

void run_norms(const UpdateList& gradients, const NormsCall& call, cudaStream_t stream) {
  norms<<<unsigned(gradients.first_block[gradients.count]), kBlock, 0, stream>>>(
      shortened(gradients), call);
  check_launch("norms");
}

void run_loss_scale(const LossScaleCall& call, cudaStream_t stream) {
  loss_scale<<<1, 1, 0, stream>>>(call);
  check_launch("loss_scale_update");
}

void run_guard(const GuardCall& call, cudaStream_t stream) {
  guard<<<1, 1, 0, stream>>>(call);
  check_launch("guard");
}

void CopyList::add(const void* source, void* target, int64_t count_or_bytes, bool always_copied) {
  if (count == 0) first_block[0] = 0;
  from[count] = source;
  to[count] = target;
  size[count] = count_or_bytes;
  always[count] = always_copied;
  int64_t chunk = convert ? kConverted : kCopyBytes;
  first_block[count + 1] = first_block[count] + int((count_or_bytes + chunk - 1) / chunk);
  ++count;
}

void run_copies(const CopyList& list, cudaStream_t stream) {
  if (list.count == 0 || list.first_block[list.count] == 0) return;
  auto grid = unsigned(list.first_block[list.count]);
  if (!list.convert)
    copy_bytes<<<grid, kBlock, 0, stream>>>(list);
  else
    visit_float(list.from_dtype, [&]<class From>(From) {
      visit_float(list.to_dtype,
                  [&]<class To>(To) { copy_floats<From, To><<<grid, kBlock, 0, stream>>>(list); });
    });
  check_launch("copies");
}

void run_find_non_finite(DType dtype, const void* data, int64_t elements, int* bad,
                         cudaStream_t stream) {
  if (elements == 0) return;
  visit_float(dtype, [&]<class T>(T) {
    find_non_finite<<<blocks_for(elements, kBlock, 132 * 8), kBlock, 0, stream>>>(
        static_cast<const T*>(data), elements, bad);
  });
  check_launch("find_non_finite");
}

}  // namespace stoker::cuda
