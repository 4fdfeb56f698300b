#include "engine/cpu/ops/activation.h"

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

Activation::Activation(const Attrs& attrs) {
  auto name = attrs.get_or<std::string>("activation", "");
  if (name.empty()) return;
  present_ = true;
  fn_ = unary_info(name).fn;
  alpha_ = float(attrs.get_or<double>("alpha", 0));
  beta_ = float(attrs.get_or<double>("beta", 0));
}

void Activation::fuse_into(dnnl::primitive_attr& attr, Builder& builder, const Node& product) {
  bool relu = present_ && (fn_ == UnaryFn::relu || fn_ == UnaryFn::leaky_relu);
  float slope = fn_ == UnaryFn::relu ? 0 : alpha_;
  if (!relu || (slope == 0 && !builder.guard_sees(product))) return;
  attr.set_post_ops(relu_behind(slope));
  fused_ = true;
}

namespace {

// Channels behind the last one are zero by agreement; functions with f(0) ≠ 0 break it.
void clear_padding(float* x, const ImageView& view) {
  int64_t used = view.channels - (view.blocks - 1) * view.inner;
  parallel_for(view.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      float* block = x + image * view.image_stride + (view.blocks - 1) * view.block_stride;
      for (int64_t pixel = 0; pixel < view.height * view.width; ++pixel)
        for (int64_t c = used; c < view.inner; ++c) block[pixel * view.pixel_stride + c] = 0;
    }
  });
}

}  // namespace

void Activation::emit(Builder& builder, int buffer, const TensorSpec& spec,
                      const Layout& layout) const {
  if (!present_ || fused_) return;
  auto function = kernels().unary[int(fn_)];
  float alpha = alpha_, beta = beta_;
  int64_t elements = layout.stored_elements(spec);
  ImageView view = {};
  bool padded = layout.is_padded() && view_image(spec, layout, view);
  builder.emit({own_kernel(), {}, {buffer}, "unary"}, [=](Pointers p) {
    float* y = p.out<float>(0);
    parallel_for(
        elements, kGrain,
        [&](int64_t begin, int64_t end) {
          function(y + begin, y + begin, end - begin, alpha, beta);
        },
        16);
    if (padded) clear_padding(y, view);
  });
}

}  // namespace stoker::cpu
