// Every layer, by Keras's name, with Keras's constructor order, defaults and weights. Keyword
// arguments are option structs: designated initialisers in Keras's order of keywords.
//
//   Conv2D(32, 3, {.strides = 2, .padding = "same", .activation = "relu", .name = "stem"})
//
// Every one takes a `dtype`, the layer's own policy (layer.h): Dense(10, {.dtype = "float32"}).
// A layer is a value handle (layer.h): copies share its weights. Images are [B, H, W, C], channels
// last. A wrong name or option is a ValueError where the layer is constructed; an input that does
// not fit is a ShapeError where the layer first meets it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <stoker/attention_layers.h>
#include <stoker/audio_layers.h>
#include <stoker/augmentation_layers.h>
#include <stoker/category_layers.h>
#include <stoker/convolution_layers.h>
#include <stoker/layer.h>
#include <stoker/layer_options.h>
#include <stoker/layers_over_time.h>
#include <stoker/pooling_layers.h>
#include <stoker/recurrent_layers.h>
#include <stoker/regularization_layers.h>
#include <stoker/shape_layers.h>
#include <stoker/transformer_layers.h>

namespace stoker {

// --- input --------------------------------------------------------------------------------------

struct InputOptions {
  int64_t batch_size = 0;  // of every batch, for stateful layers; 0: any
  DType dtype = DType::float32;
  std::string name = "";
};
// `shape` without the batch. The beginning of a functional model, or the first element of a
// Sequential:
//   Value in = Input({28, 28, 1});
// A dimension of -1 may differ from batch to batch: Input({-1, 64}) takes sequences of any length.
class Input : public Layer {
 public:
  explicit Input(const Shape& shape, const InputOptions& options = {});
  operator Value() const;  // the same value every time
};

// --- dense --------------------------------------------------------------------------------------

struct DenseOptions {
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // of the output, divided by the batch size
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = "";
  std::string dtype = "";
};
// [.., C] → [.., units]
class Dense : public Layer {
 public:
  explicit Dense(int64_t units, const DenseOptions& options = {});
};

// --- reshaping ----------------------------------------------------------------------------------

class Flatten : public Layer {
 public:
  explicit Flatten(const LayerOptions& options = {});
};
class Reshape : public Layer {
 public:
  explicit Reshape(const Shape& target_shape, const LayerOptions& options = {});  // one may be -1
};
class Permute : public Layer {
 public:
  explicit Permute(const std::vector<int64_t>& dims, const LayerOptions& options = {});  // from 1
};

// --- normalisation ------------------------------------------------------------------------------

// Training normalises by the batch and updates the moving statistics after the step (biased
// variance, as Keras 3); inference, and a frozen layer, use the moving statistics.
struct BatchNormalizationOptions {
  int axis = -1;
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Initializer moving_mean_initializer = "zeros";
  Initializer moving_variance_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  // Statistics over the rows of all replicas of a step, instead of a replica's own (distribute.h).
  bool synchronized = false;
  std::string name = "";
  std::string dtype = "";
};
class BatchNormalization : public Layer {
 public:
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
};

struct LayerNormalizationOptions {
  Axes axis = -1;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  std::string name = "";
  std::string dtype = "";
};
class LayerNormalization : public Layer {
 public:
  explicit LayerNormalization(const LayerNormalizationOptions& options = {});
};

struct UnitNormalizationOptions {
  Axes axis = -1;
  std::string name = "";
  std::string dtype = "";
};
// x / |x| over these axes: every vector gets the length 1, and one of zeros stays as it is.
class UnitNormalization : public Layer {
 public:
  explicit UnitNormalization(const UnitNormalizationOptions& options = {});
};

// Around a Dense, Conv1D or Conv2D whose kernel v becomes g · v / |v|, one g per unit or filter. g starts as
// |v|, so that wrapping a layer changes nothing at first.
class WeightNormalization : public Layer {
 public:
  explicit WeightNormalization(const Layer& layer, const LayerOptions& options = {});
};

// --- activation ---------------------------------------------------------------------------------

class Activation : public Layer {
 public:
  explicit Activation(const ActivationFunction& activation, const LayerOptions& options = {});
};
struct ReLUOptions {
  std::optional<double> max_value = {};
  double negative_slope = 0.0;
  double threshold = 0.0;
  std::string name = "";
  std::string dtype = "";
};
class ReLU : public Layer {
 public:
  explicit ReLU(const ReLUOptions& options = {});
};
class LeakyReLU : public Layer {
 public:
  explicit LeakyReLU(double negative_slope = 0.3, const LayerOptions& options = {});
};
struct PReLUOptions {
  Initializer alpha_initializer = "zeros";
  Regularizer alpha_regularizer = {};
  Constraint alpha_constraint = {};
  std::vector<int64_t> shared_axes = {};  // from 1: {1, 2} gives images one slope per channel
  std::string name = "";
  std::string dtype = "";
};
class PReLU : public Layer {
 public:
  explicit PReLU(const PReLUOptions& options = {});
};
class ELU : public Layer {
 public:
  explicit ELU(double alpha = 1.0, const LayerOptions& options = {});
};
class Softmax : public Layer {
 public:
  explicit Softmax(int axis = -1, const LayerOptions& options = {});
};

// --- merging: Add()({a, b}), broadcasting after the batch ---------------------------------------

class Add : public Layer {
 public:
  explicit Add(const LayerOptions& options = {});
};
class Subtract : public Layer {
 public:
  explicit Subtract(const LayerOptions& options = {});
};
class Multiply : public Layer {
 public:
  explicit Multiply(const LayerOptions& options = {});
};
class Average : public Layer {
 public:
  explicit Average(const LayerOptions& options = {});
};
class Maximum : public Layer {
 public:
  explicit Maximum(const LayerOptions& options = {});
};
class Minimum : public Layer {
 public:
  explicit Minimum(const LayerOptions& options = {});
};
class Concatenate : public Layer {
 public:
  explicit Concatenate(int axis = -1, const LayerOptions& options = {});
};

// --- preprocessing and lookup: any numeric input, float32 output --------------------------------

class Rescaling : public Layer {  // x · scale + offset
 public:
  explicit Rescaling(double scale, double offset = 0.0, const LayerOptions& options = {});
};

// (x - mean) / sqrt(variance). Without mean and variance they are weights that adapt() fills.
struct NormalizationOptions {
  std::optional<int> axis = -1;  // keeps a mean for each index of this axis; none: one for all
  std::vector<double> mean = {};
  std::vector<double> variance = {};
  bool invert = false;
  std::string name = "";
  std::string dtype = "";
};
class Normalization : public Layer {
 public:
  explicit Normalization(const NormalizationOptions& options = {});
  void adapt(const Tensor& data) const;  // [N, …], in double; replaces what was there
};

struct EmbeddingOptions {
  Initializer embeddings_initializer = "uniform";
  Regularizer embeddings_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;  // id 0 is padding: the output carries a mask of the ids that are not 0
  std::string name = "";
  std::string dtype = "";
};
// [..] of ids in [0, input_dim) → [.., output_dim]
class Embedding : public Layer {
 public:
  Embedding(int64_t input_dim, int64_t output_dim, const EmbeddingOptions& options = {});
};
// [B, T, .., C]: steps whose C values all are mask_value do not count. Their values become 0, and the
// output carries a mask.
class Masking : public Layer {
 public:
  explicit Masking(double mask_value = 0.0, const LayerOptions& options = {});
};

// --- own code -----------------------------------------------------------------------------------

// Fills y, which is allocated and uninitialised.
using HostForward = std::function<void(const Tensor& x, Tensor& y)>;
// Fills dx, the gradient with respect to x, from dy.
using HostBackward =
    std::function<void(const Tensor& x, const Tensor& y, const Tensor& dy, Tensor& dx)>;

struct HostLayerOptions {
  std::function<Shape(const Shape& input)> output_shape = {};  // batch included; none: the input's
  std::string name = "";
  std::string dtype = "";
};
// Own C++ on host memory, between kernels: it is timed and reported as what it is. Without a
// backward function nothing before it learns. load_model takes it from custom_objects, by its name.
class HostLayer : public Layer {
 public:
  explicit HostLayer(HostForward forward, HostBackward backward = {},
                     const HostLayerOptions& options = {});
};

// A function of ops as a layer without weights. load_model takes it from custom_objects, by its
// name; for weights, derive from LayerBase.
class Lambda : public Layer {
 public:
  explicit Lambda(std::function<Value(const Value&)> function, const LayerOptions& options = {});
};

}  // namespace stoker
