// The base of layers with one input and one output.
#pragma once

#include <stoker/layers.h>

namespace stoker {

class SingleInputLayer : public LayerBase {
 public:
  void build(const std::vector<Shape>& inputs) final;
  Values call(const Values& inputs, CallContext& context) final;

 protected:
  template <class Options>  // anything with a name
  explicit SingleInputLayer(const Options& options) {
    LayerBase::set_name(options.name);
  }

  virtual void build_for(const Shape& input) { (void)input; }
  virtual Value forward(const Value& x, CallContext& context) = 0;

  // ShapeError, with what to put before the layer, unless the input has a float dtype.
  void expect_float(const Value& x) const;
  // ShapeError unless the input is [B, H, W, C].
  void expect_image(const Shape& input) const;
  // ShapeError unless the input is [B, T, C].
  void expect_sequence(const Shape& input) const;
  // `axis` counted from 0; ShapeError when the input has no such axis, or when it is the batch.
  int resolve_axis(int64_t axis, const Shape& input) const;
};

// One that leaves every step where it is: the output carries the input's mask.
class SteadyLayer : public SingleInputLayer {
 public:
  bool supports_masking() const override { return true; }

 protected:
  using SingleInputLayer::SingleInputLayer;
};

// x in float32, whatever it was.
Value as_float32(const Value& x);

}  // namespace stoker
