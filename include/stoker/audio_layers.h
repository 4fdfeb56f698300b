// Spectrograms of sound, by Keras's names and defaults. Part of layers.h.
//
//   Sequential({Input({16000}), MelSpectrogram({.fft_length = 1024, .sequence_stride = 256}), …})
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/layer.h>
#include <stoker/layer_options.h>

namespace stoker {

struct STFTSpectrogramOptions {
  std::string mode = "log";                // magnitude, psd, real, imag, angle, stft
  int64_t frame_length = 256;              // samples of a window
  std::optional<int64_t> frame_step = {};  // unset: half a window
  std::optional<int64_t> fft_length = {};  // unset: the power of two from frame_length on
  std::string window = "hann";             // hamming, blackman, bartlett; "": none
  std::vector<double> window_values = {};  // an own window, frame_length numbers
  bool periodic = false;                   // of the window
  std::string scaling = "density";         // spectrum; "": none
  std::string padding = "valid";           // or "same"
  bool expand_dims = false;                // a picture per channel
  std::string name = "";
  std::string dtype = "";
};
// The Fourier transform of windows, as a convolution whose kernels are weights: they can be trained, or
// frozen (set_trainable). [B, T, C] → [B, T', C · bins], with expand_dims [B, T', bins, C]; there are
// fft_length / 2 + 1 bins, twice as many with mode "stft".
class STFTSpectrogram : public Layer {
 public:
  explicit STFTSpectrogram(const STFTSpectrogramOptions& options = {});
};

struct MelSpectrogramOptions {
  int64_t fft_length = 2048;
  int64_t sequence_stride = 512;
  std::optional<int64_t> sequence_length = {};  // of a window; unset: fft_length
  std::string window = "hann";                  // hamming; "": none
  int64_t sampling_rate = 16000;
  int64_t num_mel_bins = 128;
  double min_freq = 20.0;
  std::optional<double> max_freq = {};  // unset: half the sampling rate
  bool power_to_db = true;
  double top_db = 80.0;  // below the loudest of the batch
  double mag_exp = 2.0;  // 1: magnitudes, 2: powers
  double min_power = 1e-10;
  double ref_power = 1.0;
  std::string name = "";
  std::string dtype = "";
};
// [B, samples] → [B, num_mel_bins, windows], in float32.
class MelSpectrogram : public Layer {
 public:
  explicit MelSpectrogram(const MelSpectrogramOptions& options = {});
};

}  // namespace stoker
