#include "jobs/applications/common.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stoker::applications {

namespace {

struct Known {
  const char* name;
  Model (*make)(const Options&);
};
constexpr Known kKnown[] = {{"mlp", mlp},
                            {"lenet", lenet},
                            {"cnn", cnn},
                            {"cnn-small", cnn_small},
                            {"resnet18", resnet18},
                            {"resnet50", resnet50},
                            {"mobilenet", mobilenet}};

}  // namespace

Beginning begin(const Options& options) {
  Value input = Input(options.input_shape, {.dtype = options.dtype});
  return {input, options.dtype == DType::float32 ? input : Rescaling(1.0 / 255)(input)};
}

Model end(const Beginning& beginning, const Value& features, const Options& options,
          const char* name) {
  if (options.classes < 2)
    throw ValueError(fmt::format("{}: expected at least 2 classes, got {}", name, options.classes));
  Value y = Dense(options.classes, {.activation = "softmax", .name = "predictions"})(features);
  return Model(beginning.input, y, {.name = options.name.empty() ? name : options.name});
}

void expect_picture(const Options& options, int64_t pixels, const char* name) {
  const Shape& shape = options.input_shape;
  if (shape.rank() == 3 && std::min(shape[0], shape[1]) >= pixels && shape[2] >= 1) return;
  throw ShapeError(
      fmt::format("{}: expected input_shape [height, width, channels] of at least {}×{}, got {}",
                  name, pixels, pixels, to_string(shape)));
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  all.reserve(std::size(kKnown));
  for (const Known& known : kKnown) all.emplace_back(known.name);
  return all;
}

Model by_name(const std::string& name, const Options& options) {
  for (const Known& known : kKnown)
    if (known.name == name) return known.make(options);
  throw ValueError(
      fmt::format("unknown model \"{}\"; there are {}", name, fmt::join(names(), ", ")));
}

}  // namespace stoker::applications
