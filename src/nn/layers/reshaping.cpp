// Flatten, Reshape, Permute, ZeroPadding2D, Cropping2D, UpSampling2D: elements move, none is
// computed.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "nn/config.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

class FlattenLayer : public SingleInputLayer {
 public:
  explicit FlattenLayer(const LayerOptions& options) : SingleInputLayer(options.name) {}
  std::string kind() const override { return "Flatten"; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    return x.shape().rank() == 1 ? ops::expand_dims(x, 1) : ops::flatten(x);
  }
};

class ReshapeLayer : public SingleInputLayer {
 public:
  ReshapeLayer(const Shape& target, const LayerOptions& options)
      : SingleInputLayer(options.name), target_(target) {
    if (std::ranges::count(target, -1) > 1)
      fail_option(fmt::format("at most one dimension may be -1, got {}", to_string(target)));
  }

  std::string kind() const override { return "Reshape"; }
  Attrs config() const override { return {{"target_shape", Ints(target_.begin(), target_.end())}}; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    return ops::reshape(x, resolve(x.shape()).prepend(x.shape()[0]));
  }

 private:
  // The target for one element of the batch, -1 replaced.
  Shape resolve(const Shape& input) const {
    int64_t have = input.drop_front().elements(), known = 1;
    for (int64_t extent : target_)
      if (extent != -1) known *= extent;
    Shape resolved = target_;
    for (int axis = 0; axis < target_.rank(); ++axis)
      if (target_[axis] == -1 && known > 0 && have % known == 0) resolved.set(axis, have / known);
    if (!resolved.is_known() || resolved.elements() != have)
      fail_input(fmt::format("cannot make {} of the {} values of an element of {}",
                             to_string(target_), have, to_string(input)));
    return resolved;
  }

  Shape target_;
};

class PermuteLayer : public SingleInputLayer {
 public:
  PermuteLayer(Ints dims, const LayerOptions& options)
      : SingleInputLayer(options.name), dims_(std::move(dims)) {
    Ints expected(dims_.size()), sorted = dims_;
    std::iota(expected.begin(), expected.end(), 1);
    std::ranges::sort(sorted);
    if (sorted != expected)
      fail_option(fmt::format("dims holds each of 1 to {} once, got [{}]; the batch, 0, stays",
                              dims_.size(), fmt::join(dims_, ", ")));
  }

  std::string kind() const override { return "Permute"; }
  Attrs config() const override { return {{"dims", dims_}}; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    if (x.shape().rank() != int(dims_.size()) + 1)
      fail_input(fmt::format("{}-D input", dims_.size() + 1), x.shape());
    Ints perm = {0};
    perm.insert(perm.end(), dims_.begin(), dims_.end());
    return ops::transpose(x, perm);
  }

 private:
  Ints dims_;
};

class EdgesLayer : public SingleInputLayer {
 public:
  EdgesLayer(const char* option, const Edges2& edges, const LayerOptions& options)
      : SingleInputLayer(options.name), edges_(edges), option_(option) {}

  Attrs config() const override {
    Attrs attrs;
    config::put(attrs, option_, edges_);
    return attrs;
  }

 protected:
  void expect_not_negative() const {
    if (std::min({edges_.top, edges_.bottom, edges_.left, edges_.right}) < 0)
      fail_option(fmt::format("{} is at least 0, got {{{{{}, {}}}, {{{}, {}}}}}", option_,
                              edges_.top, edges_.bottom, edges_.left, edges_.right));
  }
  Edges2 edges_;

 private:
  const char* option_;
};

class ZeroPadding2DLayer : public EdgesLayer {
 public:
  ZeroPadding2DLayer(const Edges2& padding, const LayerOptions& options)
      : EdgesLayer("padding", padding, options) {
    expect_not_negative();
  }
  std::string kind() const override { return "ZeroPadding2D"; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_image(x.shape());
    return ops::pad(x, {0, edges_.top, edges_.left, 0}, {0, edges_.bottom, edges_.right, 0});
  }
};

class Cropping2DLayer : public EdgesLayer {
 public:
  Cropping2DLayer(const Edges2& cropping, const LayerOptions& options)
      : EdgesLayer("cropping", cropping, options) {
    expect_not_negative();
  }
  std::string kind() const override { return "Cropping2D"; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    const Shape shape = x.shape();
    expect_image(shape);
    int64_t height = shape[1] - edges_.top - edges_.bottom;
    int64_t width = shape[2] - edges_.left - edges_.right;
    if (height < 1 || width < 1)
      fail_input(fmt::format("an image larger than the {} rows and {} columns that are cropped",
                             edges_.top + edges_.bottom, edges_.left + edges_.right),
                 shape);
    return ops::slice(x, {0, edges_.top, edges_.left, 0}, {shape[0], height, width, shape[3]});
  }
};

class UpSampling2DLayer : public SingleInputLayer {
 public:
  UpSampling2DLayer(Size2 size, const UpSampling2DOptions& options)
      : SingleInputLayer(options.name), size_(size) {
    expect_positive("size", size);
    if (options.interpolation != "nearest")
      fail_option(fmt::format("interpolation is \"nearest\", got \"{}\"", options.interpolation));
  }

  std::string kind() const override { return "UpSampling2D"; }
  Attrs config() const override {
    Attrs attrs = {{"interpolation", std::string("nearest")}};
    config::put(attrs, "size", size_);
    return attrs;
  }

 protected:
  Value forward(const Value& x, CallContext&) override {
    const Shape shape = x.shape();
    expect_image(shape);
    int64_t batch = shape[0], height = shape[1], width = shape[2], channels = shape[3];
    Value apart = ops::reshape(x, {batch, height, 1, width, 1, channels});
    Value repeated =
        ops::broadcast_to(apart, {batch, height, size_.height, width, size_.width, channels});
    return ops::reshape(repeated, {batch, height * size_.height, width * size_.width, channels});
  }

 private:
  Size2 size_;
};

}  // namespace

Flatten::Flatten(const LayerOptions& options)
    : Layer(std::make_shared<FlattenLayer>(options), options.dtype) {}

Reshape::Reshape(const Shape& target_shape, const LayerOptions& options)
    : Layer(std::make_shared<ReshapeLayer>(target_shape, options), options.dtype) {}

Permute::Permute(const std::vector<int64_t>& dims, const LayerOptions& options)
    : Layer(std::make_shared<PermuteLayer>(dims, options), options.dtype) {}

ZeroPadding2D::ZeroPadding2D(Edges2 padding, const LayerOptions& options)
    : Layer(std::make_shared<ZeroPadding2DLayer>(padding, options), options.dtype) {}

Cropping2D::Cropping2D(Edges2 cropping, const LayerOptions& options)
    : Layer(std::make_shared<Cropping2DLayer>(cropping, options), options.dtype) {}

UpSampling2D::UpSampling2D(Size2 size, const UpSampling2DOptions& options)
    : Layer(std::make_shared<UpSampling2DLayer>(size, options), options.dtype) {}

void add_reshaping_layers(LayerFactories& factories) {
  factories["Flatten"] = [](const Attrs&) { return Flatten(); };
  factories["Reshape"] = [](const Attrs& attrs) {
    return Reshape(Shape(std::span<const int64_t>(config::integers(attrs, "target_shape"))));
  };
  factories["Permute"] = [](const Attrs& attrs) {
    return Permute(config::integers(attrs, "dims"));
  };
  factories["ZeroPadding2D"] = [](const Attrs& attrs) {
    return ZeroPadding2D(config::edges(attrs, "padding", 1));
  };
  factories["Cropping2D"] = [](const Attrs& attrs) {
    return Cropping2D(config::edges(attrs, "cropping", 0));
  };
  factories["UpSampling2D"] = [](const Attrs& attrs) {
    return UpSampling2D(config::size(attrs, "size", 2),
                        {.interpolation = config::text(attrs, "interpolation", "nearest")});
  };
}

}  // namespace stoker
