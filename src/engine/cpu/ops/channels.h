// A tensor [.., C] as batch norm sees it: parts of pixels, each in blocks of channels. Serves plain
// tensors of any rank and images in blocks.
#pragma once

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/layout.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

struct ChannelView {
  int64_t parts, part_stride;   // images, or stretches of rows
  int64_t pixels, last_pixels;  // a part; the last part
  int64_t blocks, block_stride,
      inner;  // of channels; the last block of a plain tensor may be narrower
  int64_t pixel_stride, channels, stored_channels;
  int64_t total_pixels;

  ChannelView(const TensorSpec& spec, const Layout& layout);

  ChannelBlock block(int64_t part, int64_t index) const {
    int64_t left = stored_channels - index * inner;
    return {part + 1 < parts ? pixels : last_pixels, left < inner ? left : inner, pixel_stride};
  }
  int64_t work() const { return total_pixels * stored_channels; }
};

// body(part, block index, offset of its first element, worker) over everything, divided over the
// team by parts.
template <class Body>
void for_each_block(const ChannelView& view, const Body& body) {
  parallel_team(view.work(), kGrain, [&](int worker, int workers) {
    Part range = part_of(view.parts, worker, workers);
    for (int64_t part = range.begin; part < range.end; ++part)
      for (int64_t index = 0; index < view.blocks; ++index)
        body(part, index, part * view.part_stride + index * view.block_stride, worker);
  });
}

}  // namespace stoker::cpu
