// Conv2D → SeparableConv2D.
#include <cmath>

#include <fmt/format.h>

#include "compress/lighter.h"
#include "compress/rebuild.h"
#include "engine/matrix_math.h"

namespace stoker {

namespace {

using compress::TensorsByName;
using matrix::Matrix;

// Why a Conv2D stays; "": it need not.
std::string separable_obstacle(const Attrs& config, const Variable& kernel, int64_t multiplier) {
  const Shape& shape = kernel.shape();  // [kh, kw, C, filters]
  int64_t places = shape[0] * shape[1];
  if (config.get_or<int64_t>("groups", 1) != 1) return "its channels are in groups";
  if (places == 1) return "it is 1×1: all of it is pointwise";
  if (multiplier * (places + shape[3]) >= places * shape[3])
    return fmt::format("{} depthwise filters per channel would make it no lighter", multiplier);
  return "";
}

// The options of the kernel become those of both kernels.
Attrs separable_config(const Attrs& config, int64_t multiplier) {
  Attrs made = {{"depth_multiplier", multiplier}};
  for (const auto& [option, value] : config.entries()) {
    bool of_kernel = option.starts_with("kernel_") && option != "kernel_size";
    if (option == "groups") continue;
    if (!of_kernel) {
      made.set(option, value);
      continue;
    }
    std::string rest = option.substr(std::string_view("kernel_").size());
    made.set("depthwise_" + rest, value);
    made.set("pointwise_" + rest, value);
  }
  return made;
}

// The kernel of each input channel, a matrix [kh · kw, filters], as its largest singular parts.
// Returns ‖kernel − product‖ / ‖kernel‖.
double separate_kernel(const Tensor& kernel, int64_t multiplier, Tensor& depthwise,
                       Tensor& pointwise) {
  const Shape& shape = kernel.shape();
  int64_t places = shape[0] * shape[1], channels = shape[2], filters = shape[3];
  int64_t count = std::min(places, filters), used = std::min(multiplier, count);
  depthwise = Tensor::zeros({shape[0], shape[1], channels, multiplier});
  pointwise = Tensor::zeros({1, 1, channels * multiplier, filters});
  const float* from = kernel.data<float>();
  float *depth = depthwise.data_mut<float>(), *point = pointwise.data_mut<float>();
  double lost = 0, all = 0;
  for (int64_t channel = 0; channel < channels; ++channel) {
    Matrix<double> a(places, filters), u(places, count), vt(count, filters);
    std::vector<double> s(static_cast<size_t>(count));
    for (int64_t place = 0; place < places; ++place)
      for (int64_t filter = 0; filter < filters; ++filter)
        a(place, filter) = double(from[(place * channels + channel) * filters + filter]);
    matrix::svd(a, u, s, vt);
    for (int64_t part = 0; part < count; ++part) {
      double square = s[size_t(part)] * s[size_t(part)];
      all += square;
      if (part >= used) lost += square;
    }
    for (int64_t part = 0; part < used; ++part) {
      double root = std::sqrt(s[size_t(part)]);
      for (int64_t place = 0; place < places; ++place)
        depth[(place * channels + channel) * multiplier + part] = float(u(place, part) * root);
      for (int64_t filter = 0; filter < filters; ++filter)
        point[(channel * multiplier + part) * filters + filter] = float(vt(part, filter) * root);
    }
  }
  return all > 0 ? std::sqrt(lost / all) : 0;
}

}  // namespace

Lighter separable(const Model& model, const SeparableOptions& options) {
  if (options.depth_multiplier < 1)
    throw ValueError(fmt::format("separable: depth_multiplier is {}, expected 1 or more",
                                 options.depth_multiplier));
  compress::Selection selection(model, options.layers, options.exclude, "separable");
  TensorsByName weights = compress::tensors_of(model);
  LighterReport report;
  auto make = [&](const Layer& layer, const std::string& path) {
    Attrs config = full_config(layer.base());
    bool candidate = layer.base().kind() == "Conv2D" && !is_own_class(layer.base());
    if (!candidate) {
      if (selection.has(path) && !options.layers.empty())
        selection.pass_over(path, "it is no Conv2D", report);
      return compress::made_again(layer, config, path, options.custom_objects);
    }
    Variable kernel = layer.weights()[0];
    std::string why = separable_obstacle(config, kernel, options.depth_multiplier);
    if (!selection.has(path) || !why.empty()) {
      selection.pass_over(path, why.empty() ? "is not selected" : why, report);
      return compress::made_again(layer, config, path, options.custom_objects);
    }
    Tensor depthwise, pointwise;
    double error = separate_kernel(kernel.read(), options.depth_multiplier, depthwise, pointwise);
    weights.erase(path + "/kernel");
    weights[path + "/depthwise_kernel"] = depthwise;
    weights[path + "/pointwise_kernel"] = pointwise;
    report.changes.push_back({path, "Conv2D → SeparableConv2D", error});
    return layer_from_config("SeparableConv2D", layer.name(),
                             separable_config(config, options.depth_multiplier),
                             options.custom_objects.layers, {.path = path});
  };
  Model made = rebuilt(model, make, "separable");
  selection.check_changed(report);
  compress::write_weights(made, weights);
  compress::count_costs(model, made, report);
  return {made, std::move(report)};
}

}  // namespace stoker
