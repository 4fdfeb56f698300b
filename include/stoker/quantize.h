// int8 models: weights and activations in eight bits, computed by int8 kernels.
//
//   Quantized q = quantize(model, calibration);   // a Dataset, or arrays
//   std::cout << q.report.text();                 // what runs in int8, and what does not, and why
//   q.model.save("model.stoker");                 // a model like any other: predict, save, export_onnx
//
//   Model aware = quantize_aware(model);          // trains with the rounding of int8 in the loop
//   aware.compile(…);  aware.fit(…);
//   Quantized q = quantize(aware);
//
//   Quantized q = quantize_weights(model);        // only the file and the memory get smaller
//
// Weights are int8, symmetric, with one scale per output channel. Activations are uint8 with one
// scale and one zero point per tensor, found by running the model on calibration data. Products are
// summed exactly in int32, so that results are the same bits at any number of threads. Batch
// normalisation behind a convolution or Dense layer is folded into it; activations, poolings, adds and
// concatenations between int8 layers stay in int8. The int8 model predicts and evaluates; it has no
// weight that trains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stoker/batch.h>
#include <stoker/model.h>

namespace stoker {

// How the range of an activation is found from the values that calibration saw.
enum class Calibration : uint8_t {
  min_max,     // all of them: nothing is clipped
  percentile,  // without the outermost values: see QuantizeOptions::percentile
  entropy,     // the range whose int8 histogram is nearest to the float one (Kullback–Leibler)
};

struct QuantizeOptions {
  Calibration calibration = Calibration::min_max;
  double percentile = 99.99;  // of the values of an activation that the range keeps, in (50, 100]
  // Batches that calibrate; empty: all of them.
  std::optional<int64_t> steps = {};
  // Bits of a weight, 8 or 7. Processors without VNNI or tensor cores add pairs of products in 16
  // bits, where eight-bit weights could overflow: there the engine halves them when it runs, which
  // costs their last bit. With 7 the results are the same bits on every machine.
  int64_t weight_bits = 8;
  // Names or paths ("encoder/dense"). What one of `layers` cannot do is a ValueError; without a list
  // every layer that can run in int8 does, and the report says why others do not.
  std::vector<std::string> layers = {};
  std::vector<std::string> exclude = {};
  CustomObjects custom_objects = {};  // makers of the model's own layers, as load_model takes them
};

struct QuantizedLayer {
  std::string layer;
  std::string change;  // "Conv2D + BatchNormalization + relu → int8"
  // ‖weights − int8 weights‖ / ‖weights‖; empty: it has none.
  std::optional<double> weight_error = {};
};

struct KeptInFloat {
  std::string layer;
  std::string reason;
};

// The range of an activation, and how it is stored: value = (stored − zero_point) · scale.
struct ActivationRange {
  std::string layer;  // whose output it is; an input of the model: its name
  double low = 0, high = 0;
  double scale = 1;
  int64_t zero_point = 0;
};

struct QuantizeReport {
  std::vector<QuantizedLayer> layers;
  std::vector<KeptInFloat> in_float;
  std::vector<ActivationRange> activations;
  std::vector<std::string> notes;  // what this machine makes of it
  int64_t samples = 0;             // that calibrated
  int64_t weight_bytes_before = 0, weight_bytes_after = 0;
  // Share of the model's FLOPs that int8 kernels do; empty where the model's shapes are not known.
  std::optional<double> int8_share = {};
  std::string text() const;
};

struct Quantized {
  Model model;  // not compiled
  QuantizeReport report;
};

// The int8 form of a trained model, which stays as it is. Of batches with targets only the inputs are
// used. ValueError for a calibration set without samples, values or weights that are not finite, a
// model without a layer that can be int8, a name that no layer has.
Quantized quantize(const Model& model, const Batches& calibration,
                   const QuantizeOptions& options = {});
Quantized quantize(const Model& model, const TensorList& calibration,
                   const QuantizeOptions& options = {});
// Of a model that quantize_aware() made and fit() trained: the ranges are those that it learned.
Quantized quantize(const Model& aware, const QuantizeOptions& options = {});

struct AwareOptions {
  int64_t weight_bits = 8;  // 8 or 7, as in QuantizeOptions
  // How fast ranges of activations follow those of the batches, in [0, 1).
  double momentum = 0.99;
  std::vector<std::string> layers = {};  // as in QuantizeOptions
  std::vector<std::string> exclude = {};
  CustomObjects custom_objects = {};
};
// The model with fake quantisation: weights and activations are rounded as int8 would round them,
// and gradients pass straight through inside of the ranges. Batch normalisation is folded: a layer
// computes with kernel · gamma / √variance, rounded, by the batch's statistics in training and by the
// moving ones otherwise (and in a frozen layer). The new model has copies of the weights, is not
// compiled, and can be saved.
Model quantize_aware(const Model& model, const AwareOptions& options = {});

struct WeightOnlyOptions {
  std::vector<std::string> layers = {};  // as in QuantizeOptions
  std::vector<std::string> exclude = {};
  int64_t minimum_elements = 65536;  // of a kernel or table; smaller ones stay as they are
  CustomObjects custom_objects = {};
};
// int8 weights, float arithmetic: large Dense and Embedding layers keep their weights in int8, with
// one scale per unit (Dense) or row (Embedding), and multiply with them in float32. For models whose
// memory or file is the limit. Needs no calibration.
Quantized quantize_weights(const Model& model, const WeightOnlyOptions& options = {});

}  // namespace stoker
