#include "jobs/applications/keras_network.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/weights.h>

namespace stoker::applications {

namespace {

[[noreturn]] void fail(const Network& network, const std::string& what) {
  throw ValueError(fmt::format("applications::{}: {}", network.function, what));
}

void check_options(const Network& network) {
  const ApplicationOptions& options = network.options;
  if (options.weights == "imagenet")
    fail(network,
         fmt::format("weights = \"imagenet\" would be a download, and Stoker downloads nothing; "
                     "run scripts/keras_weights.py {} FILE.safetensors where Keras is installed, "
                     "then pass .weights = \"FILE.safetensors\"",
                     network.function));
  if (options.pooling != "" && options.pooling != "avg" && options.pooling != "max")
    fail(network,
         fmt::format("expected pooling \"avg\", \"max\" or \"\", got \"{}\"", options.pooling));
  if (options.include_top && options.pooling != "")
    fail(network, fmt::format("pooling = \"{}\" is for .include_top = false; the top has its own",
                              options.pooling));
  if (options.include_top && options.classes < 1)
    fail(network, fmt::format("expected at least 1 class, got {}", options.classes));
}

Shape input_shape(const Network& network, const PictureSize& size) {
  const Shape& given = network.options.input_shape;
  bool fixed = network.options.include_top && !size.any_with_top;
  if (given.rank() == 0) return fixed ? Shape{size.standard, size.standard, 3} : Shape{-1, -1, 3};
  auto large_enough = [&](int64_t side) { return side == -1 ? !fixed : side >= size.least; };
  if (given.rank() == 3 && large_enough(given[0]) && large_enough(given[1]) && given[2] >= 1)
    return given;
  throw ShapeError(
      fmt::format("applications::{}: expected input_shape [height, width, channels] of at least "
                  "{}×{}{}, got {}",
                  network.function, size.least, size.least,
                  fixed ? " and known, as .include_top = true needs" : "", to_string(given)));
}

}  // namespace

Network start(const char* function, const std::string& name, ApplicationOptions options,
              const PictureSize& size) {
  if (options.name.empty()) options.name = name;
  Network network{function, std::move(options), {}};
  check_options(network);
  network.input = Input(input_shape(network, size));
  return network;
}

Value pooled(const Network& network, const Value& features, const PoolNames& names) {
  if (network.options.pooling == "avg")
    return GlobalAveragePooling2D({.name = names.average})(features);
  if (network.options.pooling == "max") return GlobalMaxPooling2D({.name = names.max})(features);
  return features;
}

Value predictions(const Network& network, const Value& features, const Initializer& kernel) {
  return Dense(network.options.classes, {.activation = network.options.classifier_activation,
                                         .kernel_initializer = kernel,
                                         .name = "predictions"})(features);
}

Model finish(const Network& network, const Value& features, const PoolNames& names) {
  if (!network.options.include_top) return complete(network, pooled(network, features, names));
  return complete(network,
                  predictions(network, GlobalAveragePooling2D({.name = names.average})(features)));
}

Model complete(const Network& network, const Value& output) {
  Model model(network.input, output, {.name = network.options.name});
  const std::string& path = network.options.weights;
  if (path.empty()) return model;
  LoadByNameResult result = load_weights_by_name(model, path, {.verbose = 0});
  if (!result.missing.empty())
    throw FileError(
        fmt::format("{}: lacks {} of the {} weights of applications::{}, {} among them; "
                    "load_weights_by_name takes files that hold some of them",
                    path, result.missing.size(), result.missing.size() + result.loaded.size(),
                    network.function, result.missing.front()));
  return model;
}

std::string KerasNames::operator()(const std::string& kind) {
  int number = used_[kind]++;
  return number == 0 ? kind : fmt::format("{}_{}", kind, number);
}

Edges2 correct_pad(const Value& x, int64_t kernel) {
  auto before = [&](int64_t side) { return kernel / 2 - (side == -1 || side % 2 == 0 ? 1 : 0); };
  const Shape shape = x.shape();
  return {{before(shape[1]), kernel / 2}, {before(shape[2]), kernel / 2}};
}

void check_alpha(const char* function, double alpha) {
  if (!(alpha > 0 && alpha <= 100))
    throw ValueError(
        fmt::format("{}: alpha is {}, expected a number above 0 and at most 100", function, alpha));
}

int64_t make_divisible(double channels, int64_t divisor) {
  int64_t nearest = int64_t(channels + double(divisor) / 2) / divisor * divisor;
  nearest = std::max(divisor, nearest);
  return double(nearest) < 0.9 * channels ? nearest + divisor : nearest;
}

}  // namespace stoker::applications
