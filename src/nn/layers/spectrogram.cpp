// STFTSpectrogram and MelSpectrogram.
#include <cmath>

#include <fmt/format.h>
#include <stoker/audio_layers.h>
#include <stoker/ops_fft.h>
#include <stoker/ops_math.h>
#include <stoker/ops_nn.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

constexpr double kTiny = 1e-7;  // Keras's epsilon

struct STFTSpectrogramConfig : STFTSpectrogramOptions {
  static constexpr const char* kKind = "STFTSpectrogram";
  static Fields<STFTSpectrogramConfig> fields() {
    using C = STFTSpectrogramConfig;
    return {
        {"mode", &C::mode, one_of({"log", "magnitude", "psd", "real", "imag", "angle", "stft"})},
        {"frame_length", &C::frame_length, at_least(1)},
        {"frame_step", &C::frame_step, {.check = at_least(1)}},
        {"fft_length", &C::fft_length, {.check = at_least(2)}},
        {"window", &C::window, one_of({"hann", "hamming", "blackman", "bartlett", ""})},
        {"window_values", &C::window_values, {.sparse = true}},
        {"periodic", &C::periodic},
        {"scaling", &C::scaling, one_of({"density", "spectrum", ""})},
        {"padding", &C::padding, one_of({"valid", "same"})},
        {"expand_dims", &C::expand_dims}};
  }
};

class STFTSpectrogramLayer : public Configured<SingleInputLayer, STFTSpectrogramConfig> {
 public:
  explicit STFTSpectrogramLayer(STFTSpectrogramConfig config) : Configured(std::move(config)) {
    int64_t length = options().frame_length;
    step_ = options().frame_step.value_or(std::max<int64_t>(length / 2, 1));
    for (fft_length_ = 2; fft_length_ < length;) fft_length_ *= 2;
    fft_length_ = options().fft_length.value_or(fft_length_);
    if (step_ > length)
      fail_option(
          fmt::format("frame_step is {}, expected at most frame_length, {}", step_, length));
    if (fft_length_ < length)
      fail_option(
          fmt::format("fft_length is {}, expected at least frame_length, {}", fft_length_, length));
  }

 protected:
  void build_for(const Shape& input) override {
    expect_sequence(input);
    if (options().mode != "imag") real_ = kernel("real");
    if (options().mode != "real") imag_ = kernel("imag");
  }

  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    expect_sequence(x.shape());
    const std::string& mode = options().mode;
    Value real = mode != "imag" ? transformed(x, real_) : Value();
    Value imag = mode != "real" ? transformed(x, imag_) : Value();
    if (mode == "real") return arranged(real);
    if (mode == "imag") return arranged(imag);
    if (mode == "angle") return arranged(ops::arctan2(imag, real));
    if (mode == "stft") return arranged(ops::concatenate({real, imag}, -1));
    Value power = ops::square(real) + ops::square(imag);
    if (mode == "psd") return arranged(power * both_sides(power.shape()[-1]));
    Value magnitude = ops::sqrt(ops::maximum(power, kTiny));
    return arranged(mode == "log" ? ops::log(ops::maximum(magnitude, kTiny)) : magnitude);
  }

 private:
  Variable kernel(const std::string& side) {
    const auto& o = options();
    return add_weight(side + "_kernel", {o.frame_length, 1, fft_length_ / 2 + 1},
                      {.initializer = STFT({.side = side,
                                            .window = o.window,
                                            .scaling = o.scaling,
                                            .periodic = o.periodic,
                                            .window_values = o.window_values})});
  }

  // [B, T, C] → [B, C, T', bins]
  Value transformed(const Value& x, const Variable& kernel) const {
    int64_t batch = x.shape()[0], steps = x.shape()[1], channels = x.shape()[2];
    Value rows = ops::reshape(ops::transpose(x, {0, 2, 1}), {batch * channels, steps, 1});
    Value y = ops::conv1d(rows, kernel, {.strides = step_, .padding = options().padding});
    return ops::reshape(y, {batch, channels, y.shape()[1], y.shape()[2]});
  }

  // [B, C, T', bins] → [B, T', C · bins] or [B, T', bins, C]
  Value arranged(const Value& y) const {
    if (options().expand_dims) return ops::transpose(y, {0, 2, 3, 1});
    const Shape& shape = y.shape();
    return ops::reshape(ops::transpose(y, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
  }

  // A bin between the first and the last stands for two frequencies.
  static Value both_sides(int64_t bins) {
    std::vector<float> factors(size_t(bins), 2);
    factors.front() = factors.back() = 1;
    return Tensor::from(factors, {bins});
  }

  int64_t step_ = 0, fft_length_ = 0;
  Variable real_, imag_;
};

struct MelSpectrogramConfig : MelSpectrogramOptions {
  static constexpr const char* kKind = "MelSpectrogram";
  static Fields<MelSpectrogramConfig> fields() {
    using C = MelSpectrogramConfig;
    return {{"fft_length", &C::fft_length, at_least(2)},
            {"sequence_stride", &C::sequence_stride, at_least(1)},
            {"sequence_length", &C::sequence_length, {.check = at_least(1)}},
            {"window", &C::window, one_of({"hann", "hamming", ""})},
            {"sampling_rate", &C::sampling_rate, at_least(1)},
            {"num_mel_bins", &C::num_mel_bins, at_least(1)},
            {"min_freq", &C::min_freq, at_least(0)},
            {"max_freq", &C::max_freq, {.check = above(0)}},
            {"power_to_db", &C::power_to_db},
            {"top_db", &C::top_db},
            {"mag_exp", &C::mag_exp},
            {"min_power", &C::min_power, above(0)},
            {"ref_power", &C::ref_power}};
  }
};

double mel_of(double hertz) { return 1127.0 * std::log(1 + hertz / 700.0); }

class MelSpectrogramLayer : public Configured<SingleInputLayer, MelSpectrogramConfig> {
 public:
  explicit MelSpectrogramLayer(MelSpectrogramConfig config) : Configured(std::move(config)) {
    if (window_length() > options().fft_length)
      fail_option(fmt::format("sequence_length is {}, expected at most fft_length, {}",
                              window_length(), options().fft_length));
    if (options().min_freq >= highest())
      fail_option(fmt::format("min_freq is {}, expected less than max_freq, {}", options().min_freq,
                              highest()));
  }

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    if (x.shape().rank() != 2) fail_input("2-D input [B, samples]", x.shape());
    const auto& o = options();
    ops::Complex spectrum =
        ops::stft(as_float32(x), {.sequence_length = window_length(),
                                  .sequence_stride = o.sequence_stride,
                                  .fft_length = o.fft_length,
                                  .window = o.window.empty() ? "none" : o.window});
    Value power = ops::square(spectrum.real) + ops::square(spectrum.imag);
    // A root has no gradient at 0, and a square needs none.
    if (o.mag_exp != 2) power = ops::pow(ops::sqrt(power), o.mag_exp);
    Value mel = ops::matmul(power, Value(mel_weights(power.shape()[-1])));
    return ops::transpose(o.power_to_db ? decibels(mel) : mel, {0, 2, 1});
  }

 private:
  int64_t window_length() const { return options().sequence_length.value_or(options().fft_length); }
  double highest() const {
    return options().max_freq.value_or(std::floor(double(options().sampling_rate) / 2));
  }

  Value decibels(const Value& mel) const {
    const auto& o = options();
    double reference = 10 * std::log10(std::max(std::abs(o.ref_power), o.min_power));
    Value loud = ops::log10(ops::maximum(mel, o.min_power)) * 10.0 - reference;
    return ops::maximum(loud, ops::max(loud) - o.top_db);
  }

  // Triangles over the frequencies [bins, num_mel_bins], as wide as their neighbours' distance on the
  // scale of mels; the constant part is left out.
  Tensor mel_weights(int64_t bins) const {
    const auto& o = options();
    double low = mel_of(o.min_freq), high = mel_of(highest());
    double apart = (high - low) / double(o.num_mel_bins + 1);
    Tensor matrix = Tensor::zeros({bins, o.num_mel_bins});
    for (int64_t bin = 1; bin < bins; ++bin) {
      double hertz = double(o.sampling_rate) / 2 * double(bin) / double(bins - 1);
      double at = mel_of(hertz);
      for (int64_t band = 0; band < o.num_mel_bins; ++band) {
        double left = low + apart * double(band), right = left + 2 * apart;
        double weight = std::max(0.0, std::min((at - left) / apart, (right - at) / apart));
        matrix.data_mut<float>()[bin * o.num_mel_bins + band] = float(weight);
      }
    }
    return matrix;
  }
};

}  // namespace

STFTSpectrogram::STFTSpectrogram(const STFTSpectrogramOptions& options)
    : Layer(configured<STFTSpectrogramLayer>({options})) {}
MelSpectrogram::MelSpectrogram(const MelSpectrogramOptions& options)
    : Layer(configured<MelSpectrogramLayer>({options})) {}

void add_spectrogram_layers(LayerKinds& kinds) {
  add_layer<STFTSpectrogramLayer>(kinds);
  add_layer<MelSpectrogramLayer>(kinds);
}

}  // namespace stoker
