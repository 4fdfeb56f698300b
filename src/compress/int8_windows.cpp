#include "compress/int8_windows.h"

#include <stoker/ops.h>

namespace stoker::compress {

namespace {

// One extent per axis, also where one stands for all.
Ints extents(const Attrs& config, const char* name, int axes, const Ints& otherwise) {
  const Attr* attr = config.find(name);
  if (attr == nullptr) return otherwise;
  if (const auto* one = std::get_if<int64_t>(attr)) return Ints(size_t(axes), *one);
  const Ints& all = std::get<Ints>(*attr);
  return all.size() == 1 ? Ints(size_t(axes), all[0]) : all;
}

struct Window {
  Ints size, strides, dilation;
  std::string padding;
};

Window window_of(const Attrs& config, const char* size, int axes) {
  Ints ones(size_t(axes), 1), own = extents(config, size, axes, ones);
  bool pool = std::string_view(size) == "pool_size";
  return {own, extents(config, "strides", axes, pool ? own : ones),
          extents(config, "dilation_rate", axes, ones),
          config.get_or("padding", std::string("valid"))};
}

Ints of_images(const Ints& all) { return all.size() == 1 ? Ints{1, all[0]} : all; }

Attrs pool_options(const Ints& size, const Ints& strides, const std::string& padding) {
  return {{"pool_size", size}, {"strides", strides}, {"padding", padding}};
}

}  // namespace

int axes_of(const std::string& kind) {
  return kind.ends_with("1D") ? 1 : kind.ends_with("3D") ? 3 : 2;
}

namespace {

int product_axes(const Step& step) {
  return step.kind == StepKind::batch_norm ? 2 : axes_of(product_kind(step.layer));
}

}  // namespace

Value window_input(const Step& step, const Value& x, int64_t zero_point) {
  if (product_axes(step) != 1) return x;
  Window window = window_of(product_config(step.layer), "kernel_size", 1);
  Value row = ops::expand_dims(x, 1);
  int64_t before = window.padding == "causal" ? window.dilation[0] * (window.size[0] - 1) : 0;
  if (before == 0) return row;
  return ops::pad(row, {0, 0, before, 0}, {0, 0, 0, 0}, double(zero_point));
}

Value window_result(const Step& step, const Value& y) {
  return product_axes(step) == 1 ? ops::squeeze(y, 1) : y;
}

void set_window(const Step& step, Attrs& config) {
  if (step.kind == StepKind::batch_norm) return config.set("kernel_size", Ints{1, 1});
  Window window = window_of(product_config(step.layer), "kernel_size", product_axes(step));
  config.set("kernel_size", of_images(window.size));
  config.set("strides", of_images(window.strides));
  config.set("dilation_rate", of_images(window.dilation));
  config.set("padding", std::string(window.padding == "same" ? "same" : "valid"));
}

std::vector<PoolStage> pool_stages(const Step& step, const Shape& x) {
  std::string kind = step.layer.base().kind();
  Attrs own = step.layer.base().config();
  int axes = axes_of(kind);
  Shape row = axes == 1 ? Shape{1, x[1], x[2]} : Shape{};
  if (kind.starts_with("Global")) {
    Shape flat = axes == 3 ? Shape{x[1], x[2] * x[3], x[4]} : row;
    bool keeps = own.get_or("keepdims", false);
    return {{flat, {{"global", true}, {"keepdims", keeps}}}};
  }
  Window window = window_of(own, "pool_size", axes);
  if (axes < 3)
    return {{row, pool_options(of_images(window.size), of_images(window.strides), window.padding)}};
  // Over depth and height, a row of all columns as channels; then over width.
  return {{Shape{x[1], x[2], x[3] * x[4]},
           pool_options({window.size[0], window.size[1]}, {window.strides[0], window.strides[1]},
                        window.padding)},
          {Shape{-1, x[3], x[4]},
           pool_options({1, window.size[2]}, {1, window.strides[2]}, window.padding)}};
}

}  // namespace stoker::compress
