// Which source pixels a resized pixel is made of, and with which weights, along one axis.
#pragma once

#include <cstdint>
#include <vector>

#include <stoker/image.h>

#include "data/image/isa/kernels.h"
#include "data/image/scratch.h"

namespace stoker::image {

// An interval of the source, [start, start + length) in its pixels, resized to `outputs` pixels, of
// which `count` from `begin` on are wanted; pixels outside [0, limit) do not exist.
struct Axis {
  double start = 0, length = 0;
  int64_t limit = 0;
  int64_t outputs = 0, begin = 0, count = 0;
  bool reversed = false;  // entry k is the pixel count - 1 - k of what is wanted
};

// Made anew for every picture; keeps its memory.
class Taps {
 public:
  void compute(const Axis& axis, const Resize& how);

  int64_t outputs() const { return int64_t(first_.size()); }
  int64_t first(int64_t output) const { return first_[size_t(output)]; }
  int64_t count(int64_t output) const { return count_[size_t(output)]; }
  // The part of the source that any output uses.
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  // From now on positions count from `begin`.
  void rebase(int64_t begin);

  // Weights of one output for uint8 (they sum to 1 << kWeightBits) and float32.
  const int16_t* weights_u8(int64_t output) const {
    return fixed_.data() + size_t(output * stride_);
  }
  const float* weights_f32(int64_t output) const {
    return floats_.data() + size_t(output * stride_);
  }
  void make_u8();
  void make_f32();

  ColumnTaps columns_u8();  // after make_u8
  FloatTaps columns_f32() const;

 private:
  void add(int64_t output, double centre, double support, int64_t limit, ResizeMethod method);
  void add_nearest(int64_t output, double centre, int64_t limit);
  void set(int64_t output, int64_t first, int64_t count);

  std::vector<int32_t> first_, count_;
  std::vector<double> weights_;  // [outputs, stride]
  std::vector<int16_t> fixed_, expanded_;
  std::vector<float> floats_;
  int64_t stride_ = 0, most_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace stoker::image
