// STFT: cosines or sines under a window.
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/initializers/initializer_kind.h"

namespace stoker {

namespace {

// SciPy's windows: periodic ones leave out the last of one number more.
std::vector<double> named_window(const std::string& name, int64_t length, bool periodic) {
  std::vector<double> window(size_t(length), 1);
  double steps = double(periodic ? length : length - 1);
  if (name.empty() || length == 1) return window;
  for (int64_t i = 0; i < length; ++i) {
    double turn = 2 * std::numbers::pi * double(i) / steps, at = 2 * double(i) / steps;
    double& value = window[size_t(i)];
    if (name == "hann") value = 0.5 - 0.5 * std::cos(turn);
    if (name == "hamming") value = 0.54 - 0.46 * std::cos(turn);
    if (name == "blackman") value = 0.42 - 0.5 * std::cos(turn) + 0.08 * std::cos(2 * turn);
    if (name == "bartlett") value = at <= 1 ? at : 2 - at;
  }
  return window;
}

struct FourierValues : STFTOptions {
  static constexpr KindNames kNames = {"STFT", "stft", "STFTInitializer"};
  static Fields<FourierValues> fields() {
    using V = FourierValues;
    return {{"side", &V::side, one_of({"real", "imag"})},
            {"window", &V::window, one_of({"hann", "hamming", "blackman", "bartlett", ""})},
            {"scaling", &V::scaling, one_of({"density", "spectrum", ""})},
            {"periodic", &V::periodic},
            {"window_values", &V::window_values, {.sparse = true}}};
  }

  Tensor operator()(const Shape& shape) const {
    if (shape.rank() != 3 || shape[1] != 1 || shape[2] < 2)
      throw ShapeError(
          fmt::format("STFT: expected a kernel [length, 1, bins], got {}", to_string(shape)));
    int64_t length = shape[0], bins = shape[2], period = 2 * (bins - 1);
    std::vector<double> weights = weights_of(length);
    Tensor kernel(DType::float32, shape);
    for (int64_t time = 0; time < length; ++time)
      for (int64_t bin = 0; bin < bins; ++bin) {
        double turn = -2 * std::numbers::pi * double(time * bin % period) / double(period);
        kernel.data_mut<float>()[time * bins + bin] =
            float((side == "real" ? std::cos(turn) : std::sin(turn)) * weights[size_t(time)]);
      }
    return kernel;
  }

 private:
  std::vector<double> weights_of(int64_t length) const {
    bool own = !window_values.empty();
    if (own && int64_t(window_values.size()) != length)
      throw ShapeError(fmt::format("STFT: window_values has {} numbers, expected {}",
                                   window_values.size(), length));
    std::vector<double> weights = own ? window_values : named_window(window, length, periodic);
    if (window.empty() && !own) return weights;
    double sum = 0;
    for (double each : weights) sum += scaling == "density" ? each * each : std::abs(each);
    double scale = scaling.empty() ? 1 : scaling == "density" ? std::sqrt(sum) : sum;
    for (double& each : weights) each /= scale;
    return weights;
  }
};

}  // namespace

Initializer STFT(const STFTOptions& options) { return made_initializer(FourierValues{options}); }

void add_fourier_initializers(std::vector<InitializerKind>& kinds) {
  kinds.push_back(initializer_kind<FourierValues>());
}

}  // namespace stoker
