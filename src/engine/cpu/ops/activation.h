// The activation that the fusion pass put behind a convolution, a matrix product or a batch norm.
#pragma once

#include "engine/cpu/builder.h"
#include "graph/unary.h"

namespace stoker::cpu {

class Activation {
 public:
  explicit Activation(const Attrs& attrs);

  // relu and leaky_relu become part of `product`'s oneDNN primitive; the rest is left to emit(). As
  // oneDNN's relu is max(x, 0), which makes 0 of NaN, it is taken only where the guard sees NaN.
  void fuse_into(dnnl::primitive_attr& attr, Builder& builder, const Node& product);
  // Applies what is left to a tensor, in place.
  void emit(Builder& builder, int buffer, const TensorSpec& spec, const Layout& layout) const;

 private:
  bool present_ = false, fused_ = false;
  UnaryFn fn_ = UnaryFn::relu;
  float alpha_ = 0, beta_ = 0;
};

}  // namespace stoker::cpu
