// What an operation does to one element, decided once its size is known and the random numbers are
// drawn: a list of passes, each of which reads its source once and writes its result once.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include <stoker/image.h>

#include "data/image/geometry.h"

namespace stoker::image {

// A change of each value: x · scale + offset by channel, or of each pixel: its saturation. Values
// are floats on the way; quantised: cut to 0 … 255 and towards zero, as if stored in uint8.
struct Pointwise {
  enum class Kind { affine, saturation, contrast };
  Kind kind = Kind::affine;
  size_t coefficients = 0;  // affine: where in Plan::coefficients; scales, then offsets
  double factor = 1;        // saturation, contrast
  bool quantised = false;
};

struct Pass {
  enum class Kind { picture, whole };
  Kind kind = Kind::picture;
  TensorSpec in, out;

  // picture
  const Step* decoder = nullptr;  // the source is what this step has opened; else the pass's input
  int64_t source_height = 0, source_width = 0, channels = 0;
  Geometry geometry;
  static constexpr int kMost = 8;
  std::array<Pointwise, kMost> pointwise;
  int pointwise_count = 0;

  // whole: one step does it all, with what it drew
  const Step* step = nullptr;
  uint64_t key = 0;
};

struct Readers;

class Plan {
 public:
  Plan();
  ~Plan();
  void begin(const TensorSpec& in);
  void end();  // at least one pass, even when no step changed anything

  const TensorSpec& value() const { return value_; }  // after the steps so far
  const std::vector<Pass>& passes() const { return passes_; }
  const std::vector<double>& coefficients() const { return coefficients_; }
  bool scaled_decoding() const { return scaled_; }
  // What decoders open their picture in; kept from plan to plan.
  Readers& readers() { return *readers_; }

  // --- for steps ---
  // The value comes from a decoder that knows the size of its picture.
  void decode(const Step& step, int64_t height, int64_t width, int64_t channels, bool scaled);
  void whole(const Step& step, const TensorSpec& out, uint64_t key = 0);
  void crop(const Box& box);
  void crop_padded(const Box& box);
  void resize(int64_t height, int64_t width, const Resize& how);
  void flip_left_right() { picture().geometry.flip_left_right(); }
  void flip_up_down() { picture().geometry.flip_up_down(); }
  // x · scale + offset; one entry per channel, or one for all.
  void affine(std::span<const double> scale, std::span<const double> offset, DType to);
  void affine(double scale, double offset, DType to) {
    affine(std::span<const double>(&scale, 1), std::span<const double>(&offset, 1), to);
  }
  void saturation(double factor);  // to be followed by affine() when the value is uint8
  void contrast(double factor);

 private:
  Pass& picture();             // the last pass, when it is one of pictures; else a new one
  Pass& new_picture();         // whose source is the value so far
  Pass& pointwise(int count);  // one with room for so many more
  void set_size(const Geometry& geometry);
  bool compose(Pass& pass, std::span<const double> scale, std::span<const double> offset);

  TensorSpec value_;
  std::vector<Pass> passes_;
  std::vector<double> coefficients_;
  bool scaled_ = false;
  std::unique_ptr<Readers> readers_;
};

}  // namespace stoker::image
