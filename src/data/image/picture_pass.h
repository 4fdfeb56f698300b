// One pass over a picture: decode or read, crop, resize, flip, change values, write.
#pragma once

#include "data/image/pointwise.h"
#include "data/image/step.h"
#include "data/image/workspace.h"

namespace stoker::image {

class PicturePass {
 public:
  PicturePass(const Pass& pass, Workspace& workspace, const Kernels& kernels);
  void run(const ConstTensorView& in, void* out);

 private:
  // Where the rows of the result go: into `out`, or through the chain of changes.
  class Rows;

  void copy(const ConstTensorView& in, Rows& rows);
  void copy_flat(const ConstTensorView& in, PointwiseChain& chain, void* out);
  void copy_row(const uint8_t* source, int64_t y, Rows& rows);
  void resize(const ConstTensorView& in, Rows& rows);
  void mix_bytes(const Pixels& source, int64_t columns, Rows& rows);
  void mix_floats(const Pixels& source, int64_t columns, Rows& rows);

  int choose_shrink() const;
  Pixels source(const ConstTensorView& in, const Box& box, int shrink);

  const Pass& pass_;
  const Geometry& geometry_;
  Workspace& workspace_;
  const Kernels& kernels_;
  int64_t pixel_bytes_;  // of the pass's input
};

}  // namespace stoker::image
