// The gradients of slices of one value, summed at once. An RNN that is unrolled over T steps takes
// T slices of its input: T padded copies of the whole would cost T², one concat of the pieces costs
// T. Where at most two slices overlap, the sum is that of the padded pieces to the last bit.
#pragma once

#include <vector>

#include <stoker/attrs.h>
#include <stoker/value.h>

namespace stoker {

class SliceGradients {
 public:
  void add(const Ints& begin, const Value& gradient);
  // Of the whole value, whose shape is given.
  Value sum(const Shape& whole) const;

 private:
  struct Piece {
    Ints begin;
    Value gradient;
  };
  int axis() const;
  Value layer(const std::vector<const Piece*>& pieces, int axis, const Shape& whole) const;
  static Value padded(const Value& part, const Ints& begin, const Shape& whole);

  std::vector<Piece> pieces_;
};

}  // namespace stoker
