#include "compress/int8_weights.h"

#include <algorithm>
#include <cmath>

#include "compress/masks.h"

namespace stoker::compress {

namespace {

std::vector<double> values_of(const Tensor& tensor) {
  std::span<const float> values = tensor.values<float>();
  return {values.begin(), values.end()};
}

// The weight whose name ends so; undefined where there is none.
Variable weight_named(const Layer& layer, const std::string& name) {
  for (const Variable& each : layer.weights())
    if (each.name().ends_with("/" + name)) return each;
  return {};
}

Tensor finite(const Layer& layer, const std::string& path, const std::string& name) {
  Tensor tensor = weight_named(layer, name).read();
  check_finite(path + "/" + name, tensor);
  return tensor;
}

// y = factor · x + term per channel.
struct Affine {
  std::vector<double> factor, term;
};

Affine affine_of(const Layer& norm, const std::string& path) {
  std::vector<double> mean = values_of(finite(norm, path, "moving_mean"));
  std::vector<double> variance = values_of(finite(norm, path, "moving_variance"));
  auto optional = [&](const char* name, double otherwise) {
    return weight_named(norm, name).defined() ? values_of(finite(norm, path, name))
                                              : std::vector<double>(mean.size(), otherwise);
  };
  std::vector<double> gamma = optional("gamma", 1), beta = optional("beta", 0);
  auto epsilon = norm.base().config().get<double>("epsilon");
  Affine affine;
  for (size_t i = 0; i < mean.size(); ++i) {
    double factor = gamma[i] / std::sqrt(variance[i] + epsilon);
    affine.factor.push_back(factor);
    affine.term.push_back(beta[i] - mean[i] * factor);
  }
  return affine;
}

// Elements [.., filters] → [filters, ..]
std::vector<double> filters_first(const std::vector<double>& from, int64_t filters) {
  std::vector<double> to(from.size());
  auto rest = int64_t(from.size()) / std::max<int64_t>(filters, 1);
  for (int64_t i = 0; i < rest; ++i)
    for (int64_t filter = 0; filter < filters; ++filter)
      to[size_t(filter * rest + i)] = from[size_t(i * filters + filter)];
  return to;
}

// [filters, kd, kh · kw, C] → [filters, kh · kw, kd, C]: planes stand beside each other as channels.
std::vector<double> depth_last(const std::vector<double>& from, const Shape& shape) {
  std::vector<double> to;
  to.reserve(from.size());
  for (int64_t filter = 0; filter < shape[0]; ++filter)
    for (int64_t place = 0; place < shape[2]; ++place)
      for (int64_t depth = 0; depth < shape[1]; ++depth) {
        auto first = from.begin() + ((filter * shape[1] + depth) * shape[2] + place) * shape[3];
        to.insert(to.end(), first, first + shape[3]);
      }
  return to;
}

FloatKernel product_kernel(const Step& step) {
  Tensor kernel = finite(step.layer, step.path, "kernel");
  const Shape& shape = kernel.shape();
  std::string kind = product_kind(step.layer);
  bool depthwise = is_depthwise(step.layer);
  FloatKernel made;
  // The channels of a depthwise kernel [.., C, multiplier] are its last two axes.
  int64_t filters = depthwise ? shape[-2] * shape[-1] : shape[-1], each = depthwise ? 1 : shape[-2];
  made.weights = filters_first(values_of(kernel), filters);
  made.groups = depthwise ? shape[-2] : product_config(step.layer).get_or<int64_t>("groups", 1);
  if (kind == "Dense")
    made.shape = {filters, each};
  else if (kind.ends_with("1D"))
    made.shape = {filters, 1, shape[0], each};
  else if (kind == "Conv3D")
    made.shape = {filters, shape[1], shape[2], shape[0] * each};
  else
    made.shape = {filters, shape[0], shape[1], each};
  if (kind == "Conv3D")
    made.weights = depth_last(made.weights, {filters, shape[0], shape[1] * shape[2], each});
  made.bias = weight_named(step.layer, "bias").defined()
                  ? values_of(finite(step.layer, step.path, "bias"))
                  : std::vector<double>(size_t(filters), 0.0);
  return made;
}

void fold(const Affine& affine, FloatKernel& kernel) {
  size_t each = kernel.weights.size() / kernel.bias.size();
  for (size_t i = 0; i < kernel.weights.size(); ++i) kernel.weights[i] *= affine.factor[i / each];
  for (size_t i = 0; i < kernel.bias.size(); ++i)
    kernel.bias[i] = kernel.bias[i] * affine.factor[i] + affine.term[i];
}

}  // namespace

FloatKernel float_kernel(const Step& step) {
  if (step.kind == StepKind::batch_norm) {
    Affine affine = affine_of(step.layer, step.path);
    auto channels = int64_t(affine.factor.size());
    return {{channels, 1, 1, 1}, affine.factor, affine.term, channels};
  }
  FloatKernel made = product_kernel(step);
  bool own = is_aware(step.layer) && step.layer.base().config().get<bool>("batch_norm");
  if (own) fold(affine_of(step.layer, step.path), made);
  if (step.batch_norm.shared()) fold(affine_of(step.batch_norm, step.batch_norm_path), made);
  return made;
}

Int8Kernel int8_kernel(const FloatKernel& kernel, const CodeParams& input, int64_t bits) {
  const double most = bits == 7 ? 63 : 127;
  constexpr double kLargestBias = 0x1p30;  // what the products add stays below 2³⁰ as well
  constexpr double kSmallestScale = 1e-30;
  int64_t filters = kernel.shape[0];
  auto each = int64_t(kernel.weights.size()) / std::max<int64_t>(filters, 1);
  Int8Kernel made{Tensor(DType::int8, kernel.shape), Tensor(DType::int32, {filters}), {}, 0};
  auto* weights = made.weights.data_mut<int8_t>();
  auto* bias = made.bias.data_mut<int32_t>();
  double lost = 0, all = 0;
  for (int64_t filter = 0; filter < filters; ++filter) {
    const double* from = kernel.weights.data() + filter * each;
    double largest = 0;
    for (int64_t i = 0; i < each; ++i) largest = std::max(largest, std::abs(from[i]));
    // A filter of zeros takes a scale that its bias fits.
    double needed = std::abs(kernel.bias[size_t(filter)]) / (input.scale * kLargestBias);
    double wanted = std::max({largest / most, needed, kSmallestScale});
    if (largest == 0 && needed == 0) wanted = 1;
    auto scale = double(float(wanted));
    int64_t sum = 0;
    for (int64_t i = 0; i < each; ++i) {
      double code = std::clamp(std::nearbyint(from[i] / scale), -most, most);
      weights[filter * each + i] = int8_t(code);
      sum += int64_t(code);
      lost += (from[i] - code * scale) * (from[i] - code * scale);
      all += from[i] * from[i];
    }
    auto own = int64_t(std::nearbyint(kernel.bias[size_t(filter)] / (input.scale * scale)));
    bias[filter] = int32_t(own - input.zero_point * sum);
    made.scales.push_back(scale);
  }
  made.error = all > 0 ? std::sqrt(lost / all) : 0;
  return made;
}

}  // namespace stoker::compress
