// One launch for all parameters: optimisers, moving averages, norms of gradients. The lists travel
// as kernel arguments, so there is no table to upload and a captured step needs none either.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

enum class UpdateRule : uint8_t { sgd, adam, rmsprop, moving_average, squares };

struct UpdateItem {
  static constexpr int kMoments = 3;
  void *p = nullptr, *out = nullptr;  // float32; out may be p
  const void* g = nullptr;
  void *moments[kMoments] = {}, *moment_outs[kMoments] = {};
  int64_t elements = 0;
  DType gradient_dtype = DType::float32;
  // The gradient of a convolution's kernel as cuDNN writes it: [filters, pixels, padded channels];
  // filters are a multiple of four. 0: it has the order of p.
  unsigned filters = 0, pixels = 0, channels = 0, padded = 0;
};

struct UpdateOptions {
  UpdateRule rule = UpdateRule::sgd;
  int count = 0;         // of items
  int first_number = 0;  // of the first item, in `scales` and `sums`
  const float* lr = nullptr;
  const int64_t* iterations = nullptr;
  bool counts_this = false;  // iterations: this update is one of them
  const float* scales = nullptr;
  const int* enabled = nullptr;  // if not null and 0 there: nothing happens
  bool momentum_given = false;   // lr[1] is the momentum, or adam's beta_1
  float momentum = 0, weight_decay = 0, clip_value = 0, epsilon = 0, rho = 0;
  double beta_1 = 0, beta_2 = 0;
  float log_beta_1 = 0, log_beta_2 = 0;
  bool nesterov = false, amsgrad = false, centered = false;
  double* sums = nullptr;  // squares: one per block
};

// A launch copies all of it: run_update() makes a short one of few items.
template <int Most>
struct UpdateListOf : UpdateOptions {
  static constexpr int kMost = Most;
  UpdateItem item[kMost];
  int first_block[kMost + 1];

  void add(const UpdateItem& one);
};
using UpdateList = UpdateListOf<200>;
static_assert(sizeof(UpdateList) < 32000, "kernel arguments end at 32 764 bytes");

// The parameters that a kernel which makes their gradients updates at once; none: it writes those.
using FewUpdates = UpdateListOf<2>;

void run_update(const UpdateList& list, cudaStream_t stream);

// Closes the gate (engine/cuda/memory.h) if the guard is not finite, and says who did it. A `gate`
// that is not finite keeps the updates of this run, and only those.
struct GuardCall {
  const float *guard = nullptr, *gate = nullptr;  // each may be null
  int *latch = nullptr, *enabled = nullptr;       // enabled: two, see Launch
  int64_t* run = nullptr;                         // counts the runs of this program
  int64_t program = 0;
  volatile int64_t *bad_program = nullptr, *bad_run = nullptr;
};
void run_guard(const GuardCall& call, cudaStream_t stream);

// Sums of squares → scale of each gradient and the norm over all.
struct ClipTerms {
  int count = 0;
  bool global = true;
  double max_norm = 0;
  const float* loss_scale = nullptr;  // if not null: gradients are this times too large
  float *scales = nullptr, *norm = nullptr;
};

// From sums of blocks. `first_block[i]` is where gradient i's partials begin.
struct ClipCall : ClipTerms {
  static constexpr int kMost = 2000;
  const double* sums = nullptr;
  int first_block[kMost + 1];
};
void run_clip_scales(const ClipCall& call, cudaStream_t stream);

// The same for few gradients, with their squares, in one launch; and a guard that is a loss plus 0
// times the norm, where there is one.
struct NormsCall : ClipTerms {
  static constexpr int kMost = 16;
  unsigned* counter = nullptr;  // zero before and after
  const float* loss = nullptr;  // null: no guard
  float* guard_value = nullptr;
  GuardCall guard;  // `enabled` may be null: no guard
};
void run_norms(const UpdateList& gradients, const NormsCall& call, cudaStream_t stream);

// The next loss scale; graph/ops/optimizer.cpp says of what.
struct LossScaleCall {
  const float *norm = nullptr, *scale = nullptr;
  const int64_t *good = nullptr, *skipped = nullptr;
  float *next_scale = nullptr, *alarm = nullptr;
  int64_t *next_good = nullptr, *next_skipped = nullptr;
  int64_t growth_steps = 0;
  float min_scale = 0, max_scale = 0;
};
void run_loss_scale(const LossScaleCall& call, cudaStream_t stream);

// Many copies in one launch: bytes as they are, or floats into a shorter or longer dtype.
struct CopyList {
  static constexpr int kMost = 500;
  bool convert = false;  // else bytes are copied
  DType from_dtype = DType::float32, to_dtype = DType::float32;
  int count = 0;
  const void* from[kMost];
  void* to[kMost];
  int64_t size[kMost];  // elements, or bytes
  bool always[kMost];   // whether enabled[1] counts for it
  int first_block[kMost + 1];
  const int* enabled = nullptr;  // if not null and 0 there: nothing happens

  void add(const void* source, void* target, int64_t count_or_bytes, bool always_copied = false);
};
static_assert(sizeof(CopyList) < 32000, "kernel arguments end at 32 764 bytes");
void run_copies(const CopyList& list, cudaStream_t stream);

// *bad = 1 if any element is NaN or infinite.
void run_find_non_finite(DType dtype, const void* data, int64_t elements, int* bad,
                         cudaStream_t stream);

}  // namespace stoker::cuda
