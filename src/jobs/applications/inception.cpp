// InceptionV3 and InceptionResNetV2: modules of parallel branches, as tables.
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <stoker/residual_layers.h>

#include "jobs/applications/keras_network.h"

namespace stoker::applications {

namespace {
namespace inception {

constexpr PictureSize kSize = {.standard = 299, .least = 75};

// A convolution with batch normalisation and ReLU. A stride of 2 goes without padding.
struct Conv {
  int64_t filters;
  Size2 kernel = 1;
  int64_t stride = 1;
  bool same = true;
};
using Branch = std::vector<Conv>;
using Branches = std::vector<Branch>;

class Builder {
 public:
  explicit Builder(Value x) : x_(std::move(x)) {}

  const Value& x() const { return x_; }
  void add(const Branch& branch) { x_ = chain(x_, branch); }
  void max_pool() { x_ = MaxPooling2D(3, {.strides = 2})(x_); }

  // Branches side by side, with the mean of 3×3 pixels and a convolution of `pooled` filters.
  void mix(const std::string& name, const Branches& branches, int64_t pooled) {
    Values parts = chains(branches);
    parts.push_back(mean_branch(pooled));
    join(name, parts);
  }
  // The same with a pooling that shrinks the picture.
  void shrink(const std::string& name, const Branches& branches) {
    Values parts = chains(branches);
    parts.push_back(MaxPooling2D(3, {.strides = 2})(x_));
    join(name, parts);
  }
  // 1×3 and 3×1 at once, behind 1×1 and behind 1×1 and 3×3.
  void mix_wide(const std::string& name, const std::string& inner) {
    Values parts = {chain(x_, {{320}})};
    parts.push_back(both_ways(chain(x_, {{384}}), inner));
    parts.push_back(both_ways(chain(x_, {{448}, {384, 3}}), ""));
    parts.push_back(mean_branch(192));
    join(name, parts);
  }
  // x + scale · (the branches, joined and projected).
  void residual(const std::string& name, const Branches& branches, double scale, bool activated) {
    Value mixed = Concatenate(-1, {.name = name + "_mixed"})(chains(branches));
    Value up = Conv2D(x_.shape()[3], 1, {.padding = "same", .name = name + "_conv"})(mixed);
    x_ = CustomScaleLayer(scale)({x_, up});
    if (activated) x_ = Activation("relu", {.name = name + "_ac"})(x_);
  }
  // With names of its own.
  void add_named(const Conv& conv, const std::string& name) {
    x_ = convolved(x_, conv, name, name + "_bn", name + "_ac");
  }

 private:
  Value convolved(const Value& x, const Conv& conv, const std::string& name,
                  const std::string& norm, const std::string& activation) {
    bool same = conv.same && conv.stride == 1;
    Value y = Conv2D(conv.filters, conv.kernel,
                     {.strides = conv.stride,
                      .padding = same ? "same" : "valid",
                      .use_bias = false,
                      .name = name})(x);
    y = BatchNormalization({.scale = false, .name = norm})(y);
    return Activation("relu", {.name = activation})(y);
  }
  Value chain(Value x, const Branch& branch) {
    for (const Conv& conv : branch)
      x = convolved(x, conv, names_("conv2d"), names_("batch_normalization"), "");
    return x;
  }
  Values chains(const Branches& branches) {
    Values parts;
    for (const Branch& branch : branches) parts.push_back(chain(x_, branch));
    return parts;
  }
  Value mean_branch(int64_t filters) {
    return chain(AveragePooling2D(3, {.strides = 1, .padding = "same"})(x_), {{filters}});
  }
  Value both_ways(const Value& x, const std::string& name) {
    Value flat = chain(x, {{384, {1, 3}}}), upright = chain(x, {{384, {3, 1}}});
    return Concatenate(-1, {.name = name})({flat, upright});
  }
  void join(const std::string& name, const Values& parts) {
    x_ = Concatenate(-1, {.name = name})(parts);
  }

  Value x_;
  KerasNames names_;
};

void add_stem(Builder& net) {
  net.add({{32, 3, 2}, {32, 3, 1, false}, {64, 3}});
  net.max_pool();
  net.add({{80, 1, 1, false}, {192, 3, 1, false}});
  net.max_pool();
}

// Two branches of 1×7 and 7×1, `width` filters inside.
Branches sevens(int64_t width) {
  const Size2 flat = {1, 7}, upright = {7, 1};
  return {{{192}},
          {{width}, {width, flat}, {192, upright}},
          {{width}, {width, upright}, {width, flat}, {width, upright}, {192, flat}}};
}

struct Residual {
  const char* kind;
  int blocks;
  double scale;
  Branches branches;
};

void add_residuals(Builder& net, const Residual& residual) {
  for (int i = 1; i <= residual.blocks; ++i)
    net.residual(fmt::format("{}_{}", residual.kind, i), residual.branches, residual.scale, true);
}

}  // namespace inception
}  // namespace

Model InceptionV3(const ApplicationOptions& options) {
  using namespace inception;
  Network network = start("InceptionV3", "inception_v3", options, kSize);
  Builder net(network.input);
  add_stem(net);
  const Branches narrow = {{{64}}, {{48}, {64, 5}}, {{64}, {96, 3}, {96, 3}}};
  net.mix("mixed0", narrow, 32);
  net.mix("mixed1", narrow, 64);
  net.mix("mixed2", narrow, 64);
  net.shrink("mixed3", {{{384, 3, 2}}, {{64}, {96, 3}, {96, 3, 2}}});
  net.mix("mixed4", sevens(128), 192);
  net.mix("mixed5", sevens(160), 192);
  net.mix("mixed6", sevens(160), 192);
  net.mix("mixed7", sevens(192), 192);
  net.shrink("mixed8", {{{192}, {320, 3, 2}}, {{192}, {192, {1, 7}}, {192, {7, 1}}, {192, 3, 2}}});
  net.mix_wide("mixed9", "mixed9_0");
  net.mix_wide("mixed10", "mixed9_1");
  return finish(network, net.x(), {.average = options.include_top ? "avg_pool" : ""});
}

Model InceptionResNetV2(const ApplicationOptions& options) {
  using namespace inception;
  Network network = start("InceptionResNetV2", "inception_resnet_v2", options, kSize);
  Builder net(network.input);
  add_stem(net);
  net.mix("mixed_5b", {{{96}}, {{48}, {64, 5}}, {{64}, {96, 3}, {96, 3}}}, 64);
  add_residuals(net, {"block35", 10, 0.17, {{{32}}, {{32}, {32, 3}}, {{32}, {48, 3}, {64, 3}}}});
  net.shrink("mixed_6a", {{{384, 3, 2}}, {{256}, {256, 3}, {384, 3, 2}}});
  add_residuals(net, {"block17", 20, 0.1, {{{192}}, {{128}, {160, {1, 7}}, {192, {7, 1}}}}});
  net.shrink("mixed_7a",
             {{{256}, {384, 3, 2}}, {{256}, {288, 3, 2}}, {{256}, {288, 3}, {320, 3, 2}}});
  const Branches last = {{{192}}, {{192}, {224, {1, 3}}, {256, {3, 1}}}};
  add_residuals(net, {"block8", 9, 0.2, last});
  net.residual("block8_10", last, 1.0, false);
  net.add_named({1536}, "conv_7b");
  return finish(network, net.x(), {.average = options.include_top ? "avg_pool" : ""});
}

}  // namespace stoker::applications
