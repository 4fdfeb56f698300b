// The changes of each value at the end of a pass, applied to a few pixels at a time while they are
// in the cache.
#pragma once

#include <array>

#include "data/image/kernels.h"
#include "data/image/passes.h"

namespace stoker::image {

struct Workspace;

class PointwiseChain {
 public:
  // `means` of the source by channel, in its own units; needed when the chain has a contrast.
  PointwiseChain(const Pass& pass, Workspace& workspace, const Kernels& kernels,
                 std::span<const double> means);

  bool empty() const { return count_ == 0; }
  // `pixels` pixels of the pass's input dtype to its output dtype.
  void apply(const void* in, int64_t pixels, void* out);

 private:
  struct Stage {
    bool saturation = false, quantised = false;
    float factor = 1;
    Affine affine = {};
  };

  void add(const Pointwise& change, std::span<const double> means);
  // From functions of the channel.
  template <class Scale, class Offset>
  Affine repeated(const Scale& scale_of, const Offset& offset_of);
  void first(const void* in, int64_t pixels, float* floats);
  void last(const float* floats, int64_t pixels, void* out);

  const Pass& pass_;
  Workspace& workspace_;
  const Kernels& kernels_;
  bool from_bytes_, to_bytes_;
  float* coefficients_ = nullptr;  // the next free one
  std::array<Stage, Pass::kMost + 1> stages_;
  int count_ = 0;
};

// The mean of each channel of the pass's source; kept in the workspace.
std::span<const double> channel_means(const Pass& pass, const void* in, Workspace& workspace,
                                      const Kernels& kernels);

}  // namespace stoker::image
