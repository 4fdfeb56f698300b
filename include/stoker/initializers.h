// How weights begin. An Initializer is a value; a name in Keras's spelling ("glorot_uniform",
// "zeros", …) is one too. Draws come from the context's seed and a stream of their own, so that
// set_seed() followed by the same model gives the same weights; with an explicit seed, from that
// seed alone. Any function from a shape to a tensor is an initialiser as well; a layer with one is
// passed to load_model by its name.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/tensor.h>

namespace stoker {

class Initializer {
 public:
  Initializer(const char* name) : Initializer(std::string(name)) {}
  Initializer(const std::string& name);  // Keras's defaults; ValueError lists the names
  Initializer(const std::string& kind, Attrs config);  // ValueError for an unknown option or value

  template <class F,
            class = std::enable_if_t<std::is_invocable_r_v<Tensor, const F&, const Shape&>>>
  Initializer(F function) : kind_(kCustom), function_(std::move(function)) {}

  // Fan-in and fan-out are Keras's: the last two dimensions times the receptive field before them.
  Tensor operator()(const Shape& shape, DType dtype = DType::float32) const;

  const std::string& kind() const { return kind_; }  // "GlorotUniform"
  const Attrs& config() const { return config_; }
  static constexpr const char* kCustom = "<function>";

 private:
  std::string kind_;
  Attrs config_;
  std::function<Tensor(const Shape& shape)> function_;
};

struct RandomOptions {
  double mean = 0.0;
  double stddev = 0.05;
  std::optional<int64_t> seed = {};
};
struct UniformOptions {
  double minval = -0.05;
  double maxval = 0.05;
  std::optional<int64_t> seed = {};
};
struct SeedOptions {
  std::optional<int64_t> seed = {};
};
struct VarianceScalingOptions {
  double scale = 1.0;
  std::string mode = "fan_in";                    // fan_in, fan_out, fan_avg
  std::string distribution = "truncated_normal";  // truncated_normal, untruncated_normal, uniform
  std::optional<int64_t> seed = {};
};

struct STFTOptions {
  std::string side = "real";        // imag
  std::string window = "hann";      // hamming, blackman, bartlett; "": none
  std::string scaling = "density";  // spectrum; "": none
  bool periodic = false;
  std::vector<double> window_values = {};  // an own window, as long as the kernel
};

Initializer Zeros();
Initializer Ones();
Initializer Constant(double value);
// These numbers, for weights of this shape; a file keeps them.
Initializer Constant(const Tensor& values);
Initializer IdentityInitializer(double gain = 1.0);  // "identity": of a matrix, square or not
Initializer RandomNormal(const RandomOptions& options = {});
Initializer TruncatedNormal(const RandomOptions& options = {});
Initializer RandomUniform(const UniformOptions& options = {});
Initializer VarianceScaling(const VarianceScalingOptions& options = {});
Initializer GlorotUniform(const SeedOptions& options = {});
Initializer GlorotNormal(const SeedOptions& options = {});
Initializer HeUniform(const SeedOptions& options = {});
Initializer HeNormal(const SeedOptions& options = {});
Initializer LecunUniform(const SeedOptions& options = {});
Initializer LecunNormal(const SeedOptions& options = {});
// A Fourier transform as the kernel [length, 1, bins] of a Conv1D: see STFTSpectrogram.
Initializer STFT(const STFTOptions& options = {});
Initializer Orthogonal(double gain = 1.0, const SeedOptions& options = {});

}  // namespace stoker
