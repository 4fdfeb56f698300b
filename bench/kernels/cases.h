// The ops that bench_kernels measures, each at several sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <stoker/stoker.h>

namespace stoker::bench {

// Large is far beyond any cache, middle is where the project's bar begins, and odd sizes have no
// factor that a vector or a tile could use.
struct Extent {
  std::string name;
  int64_t bytes;  // of the main operand
  bool odd = false;
};
const std::vector<Extent>& extents();

// What an op reads: numbers of the device's dtype, or ids below a limit.
struct Operand {
  Shape shape;
  int64_t ids = 0;       // > 0: int32 ids in [0, ids)
  bool gradient = true;  // backwards: differentiated by
  bool wide = false;     // float32 whatever the dtype: statistics, losses
};

struct KernelCase {
  std::string name;
  std::vector<Operand> operands;
  std::function<Value(const Values& operands)> forward;
  bool backward = true;  // also measures the gradient
};

// `elements` makes a tensor's shape of the extent's bytes.
class Sizes {
 public:
  Sizes(const Extent& extent, DType dtype)
      : extent_(extent), elements_(extent.bytes / int64_t(size_of(dtype))) {}
  // So many columns, one more where sizes are odd.
  Shape rows_of(int64_t columns) const;
  Shape exact_rows_of(int64_t columns) const;  // never one more
  Shape images_of(int64_t side, int64_t channels) const;
  int64_t elements() const { return elements_; }
  bool odd() const { return extent_.odd; }

 private:
  Extent extent_;
  int64_t elements_;
};

// One family per file.
void add_moving(const Sizes& sizes, std::vector<KernelCase>& cases);     // copies and index maps
void add_pointwise(const Sizes& sizes, std::vector<KernelCase>& cases);  // and reductions
void add_rows(const Sizes& sizes, std::vector<KernelCase>& cases);       // softmax, norms, lookups
void add_images(const Sizes& sizes, std::vector<KernelCase>& cases);     // pooling, depthwise
void add_convolutions(const Sizes& sizes, std::vector<KernelCase>& cases);
void add_products(const Sizes& sizes, std::vector<KernelCase>& cases);
void add_attention(const Sizes& sizes, std::vector<KernelCase>& cases);
// Sorting, running sums, places, segments, draws, resizing, matrices.
void add_orders(const Sizes& sizes, std::vector<KernelCase>& cases);

}  // namespace stoker::bench
