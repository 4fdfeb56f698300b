// What comes before and after the networks of keras.applications: preprocess_input and
// decode_predictions.
#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/applications.h>
#include <stoker/ops.h>

#include "base/file.h"
#include "formats/json.h"

namespace stoker::applications {

namespace {

enum class Mode : uint8_t { none, tf, torch, caffe };

// Longer prefixes before shorter ones.
struct Family {
  const char* prefix;
  Mode mode;
};
constexpr Family kFamilies[] = {
    {"ConvNeXt", Mode::none}, {"DenseNet", Mode::torch},   {"EfficientNet", Mode::none},
    {"Inception", Mode::tf},  {"MobileNetV3", Mode::none}, {"MobileNet", Mode::tf},
    {"NASNet", Mode::tf},     {"ResNet", Mode::caffe},     {"VGG", Mode::caffe},
    {"Xception", Mode::tf},
};

Mode mode_of(const std::string& network) {
  if (network == "tf") return Mode::tf;
  if (network == "torch") return Mode::torch;
  if (network == "caffe") return Mode::caffe;
  std::vector<std::string> known = keras_names();
  if (std::ranges::find(known, network) == known.end())
    throw ValueError(
        fmt::format("preprocess_input: unknown network \"{}\"; there are \"tf\", \"torch\", "
                    "\"caffe\" and {}",
                    network, fmt::join(known, ", ")));
  if (network.starts_with("ResNet") && network.ends_with("V2")) return Mode::tf;
  auto family = std::ranges::find_if(
      kFamilies, [&](const Family& each) { return network.starts_with(each.prefix); });
  return family->mode;
}

void expect_colours(const Shape& shape, Mode mode) {
  if (mode == Mode::none || mode == Mode::tf || (shape.rank() > 0 && shape[-1] == 3)) return;
  throw ShapeError(
      fmt::format("preprocess_input: expected pixels [.., 3] in RGB, got {}", to_string(shape)));
}

Tensor per_channel(const std::array<double, 3>& values) {
  return Tensor::from<double>(std::span<const double>(values), {3});
}

// RGB to BGR.
Tensor reversed(const Tensor& x) {
  Tensor out(DType::float32, x.shape());
  const auto* from = x.data<float>();
  auto* to = out.data_mut<float>();
  for (int64_t i = 0; i < x.elements(); i += 3) std::reverse_copy(from + i, from + i + 3, to + i);
  return out;
}
Value reversed(const Value& x) {
  Values channels = ops::split(x, 3);
  std::ranges::reverse(channels);
  return ops::concatenate(channels);
}

template <class X>
X preprocessed(const X& pixels, Mode mode) {
  expect_colours(pixels.shape(), mode);
  switch (mode) {
    case Mode::none:
      return pixels;
    case Mode::tf:
      return pixels / 127.5 - 1.0;
    case Mode::torch:
      return (pixels / 255.0 - X(per_channel({0.485, 0.456, 0.406}))) /
             X(per_channel({0.229, 0.224, 0.225}));
    case Mode::caffe:
      return reversed(pixels) - X(per_channel({103.939, 116.779, 123.68}));
  }
  return pixels;
}

struct Class {
  std::string id, name;
};

// {"0": ["n01440764", "tench"], …}
std::vector<Class> classes_in_json(const std::string& path, const std::string& text) {
  nlohmann::json json = try_parse_json(text);
  std::vector<Class> classes;
  for (size_t i = 0; json.is_object() && i < json.size(); ++i) {
    auto found = json.find(std::to_string(i));
    if (found == json.end() || !found->is_array() || found->size() != 2 ||
        !(*found)[0].is_string() || !(*found)[1].is_string())
      throw FileError(fmt::format("{}: expected \"{}\": [\"n01440764\", \"tench\"]", path, i));
    classes.push_back({(*found)[0], (*found)[1]});
  }
  if (classes.empty()) throw FileError(path + ": expected {\"0\": [\"n01440764\", \"tench\"], …}");
  return classes;
}

std::vector<Class> classes_in_lines(const std::string& text) {
  std::vector<Class> classes;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string name = text.substr(begin, end - begin);
    if (name.ends_with('\r')) name.pop_back();
    classes.push_back({std::to_string(classes.size()), name});
    begin = end + 1;
  }
  return classes;
}

std::vector<Class> read_class_list(const std::string& path) {
  if (path.empty())
    throw ValueError(
        "decode_predictions: .classes_file is missing; it is imagenet_class_index.json, which "
        "Keras "
        "keeps in ~/.keras/models, or a text file with one name per line");
  std::string text = read_text(path);
  bool json = text.find_first_not_of(" \t\r\n") != std::string::npos &&
              text[text.find_first_not_of(" \t\r\n")] == '{';
  return json ? classes_in_json(path, text) : classes_in_lines(text);
}

}  // namespace

Tensor preprocess_input(const Tensor& x, const std::string& network) {
  return preprocessed(x.cast(DType::float32), mode_of(network));
}

Value preprocess_input(const Value& x, const std::string& network) {
  return preprocessed(x.dtype() == DType::float32 ? x : ops::cast(x, DType::float32),
                      mode_of(network));
}

std::vector<std::vector<Prediction>> decode_predictions(const Tensor& predictions,
                                                        const DecodePredictions& options) {
  std::vector<Class> classes = read_class_list(options.classes_file);
  const Shape& shape = predictions.shape();
  if (shape.rank() != 2)
    throw ShapeError("decode_predictions: expected predictions [B, classes], got " +
                     to_string(shape));
  if (shape[1] != int64_t(classes.size()))
    throw FileError(fmt::format("{}: has {} classes, the predictions {}", options.classes_file,
                                classes.size(), shape[1]));
  if (options.top < 1)
    throw ValueError(
        fmt::format("decode_predictions: expected top of 1 or more, got {}", options.top));
  size_t top = std::min(classes.size(), size_t(options.top));
  std::vector<std::vector<Prediction>> all;
  for (int64_t row = 0; row < shape[0]; ++row) {
    std::vector<double> scores = predictions[row].to_vector<double>();
    std::vector<size_t> order(classes.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    std::vector<Prediction>& best = all.emplace_back();
    for (size_t i = 0; i < top; ++i)
      best.push_back({classes[order[i]].id, classes[order[i]].name, scores[order[i]]});
  }
  return all;
}

}  // namespace stoker::applications
