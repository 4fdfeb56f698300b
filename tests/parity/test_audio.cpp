// Spectrograms and equalisation by tiles against Keras: keras_audio.py.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/initializers.h>
#include <stoker/layers.h>

#include "parity/comparison.h"
#include "parity/layer_cases.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

std::vector<LayerParity> spectrograms() {
  Shape sound = {2, 40, 2}, signal = {2, 90};
  auto stft = [](const std::string& mode) {
    return STFTSpectrogram({.mode = mode, .frame_length = 10, .frame_step = 4, .fft_length = 16});
  };
  MelSpectrogramOptions mel{
      .fft_length = 32, .sequence_stride = 12, .sampling_rate = 2000, .num_mel_bins = 6};
  MelSpectrogramOptions power = mel, magnitude = mel;
  power.power_to_db = false;
  power.sequence_length = 20;
  power.window = "hamming";
  magnitude.mag_exp = 1;
  magnitude.top_db = 12;
  magnitude.ref_power = 2;
  magnitude.max_freq = 700;
  return {
      {"stft_log", stft("log"), {sound}},
      {"stft_magnitude", stft("magnitude"), {sound}},
      {"stft_psd", stft("psd"), {sound}},
      {"stft_real", stft("real"), {sound}},
      {"stft_imag", stft("imag"), {sound}},
      {"stft_angle", stft("angle"), {sound}},
      {"stft_stft", stft("stft"), {sound}},
      {"stft_same",
       STFTSpectrogram({.mode = "psd", .frame_length = 8, .padding = "same", .expand_dims = true}),
       {sound}},
      {"mel", MelSpectrogram(mel), {signal}},
      {"mel_power", MelSpectrogram(power), {signal}},
      {"mel_magnitude", MelSpectrogram(magnitude), {signal}}};
}

using Audio = DeviceTest;

TEST_P(Audio, SpectrogramsHaveKerasValuesAndGradients) {
  Recording recording("audio");
  size_t parts = 0;
  for (const LayerParity& one : spectrograms())
    parts += compare_with_keras(recording, one, device());
  EXPECT_EQ(recording.names("layer/").size(), parts);
}

TEST_P(Audio, TilesAreEqualisedAsInKeras) {
  Recording recording("audio");
  auto levels =
      ContrastLimitedAdaptiveHistogramEqualization({.clip_limit = 2, .tile_grid_size = {2, 3}});
  auto unit = ContrastLimitedAdaptiveHistogramEqualization(
      {.value_range = {-1, 1}, .clip_limit = 0, .tile_grid_size = {3, 2}});
  for (auto [name, shape] : {std::pair("whole", Shape{2, 8, 12, 3}), {"odd", Shape{1, 9, 7, 1}}}) {
    SCOPED_TRACE(name);
    Tensor picture = drawn(recording.seed(), 0, shape, {.limit = 128, .centre = 128});
    std::vector<Tensor> got = run_once(device(), {picture}, [&](const Values& x) {
      return Values{levels(x[0]), unit(x[0] / 128.0 - 1.0)};
    });
    EXPECT_TRUE(agrees(got[0], recording.expected(fmt::format("equalised/{}/levels", name))));
    EXPECT_TRUE(agrees(got[1], recording.expected(fmt::format("equalised/{}/unit", name))));
  }
}

TEST(FourierKernels, AreKeras) {
  Recording recording("audio");
  std::vector<std::tuple<const char*, Shape, STFTOptions>> cases = {
      {"real_hann_density", {10, 1, 9}, {}},
      {"imag_hamming_spectrum",
       {8, 1, 9},
       {.side = "imag", .window = "hamming", .scaling = "spectrum", .periodic = true}},
      {"real_blackman_none", {9, 1, 5}, {.window = "blackman", .scaling = ""}},
      {"imag_bartlett_density", {6, 1, 5}, {.side = "imag", .window = "bartlett"}},
      {"real_none", {7, 1, 9}, {.window = ""}}};
  for (const auto& [name, shape, options] : cases)
    EXPECT_TRUE(
        agrees(STFT(options)(shape), recording.expected(fmt::format("kernel/{}/values", name))));
  EXPECT_EQ(recording.names("kernel/").size(), cases.size());
}

INSTANTIATE_TEST_SUITE_P(Parity, Audio, kDevices, device_name);

}  // namespace
}  // namespace stoker
