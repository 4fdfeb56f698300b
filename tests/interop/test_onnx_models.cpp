// Whole models in ONNX Runtime: every kind of layer, networks drawn at random, and the usual ones.
#include <set>

#include <stoker/quantize.h>
#include <stoker/stoker.h>

#include "interop/random_model.h"
#include "interop/spatial_samples.h"
#include "nn/layer_factory.h"
#include "support/onnx_files.h"
#include "train/model/model_base.h"

namespace stoker::test {
namespace {

std::vector<Sample> samples() {
  Normalization adapted({.axis = -1});
  adapted.adapt(Tensor::from<float>({1, 2, 3, 5, 8, 13}, {3, 2}));
  return {
      {Dense(3, {.activation = "relu"}), {4}},
      {Dense(3, {.use_bias = false}), {4}},
      {Dense(3, {.activation = "tanh"}), {5, 4}},
      {Dense(3), {2, 5, 4}},
      {Conv2D(4, {3, 2},
              {.strides = {2, 1}, .padding = "same", .groups = 2, .activation = "sigmoid"}),
       {7, 6, 2}},
      {Conv2D(4, 3, {.dilation_rate = 2, .use_bias = false}), {7, 8, 3}},
      {DepthwiseConv2D(3, {.strides = 2, .padding = "same", .depth_multiplier = 2}), {7, 6, 3}},
      {SeparableConv2D(4, 3, {.depth_multiplier = 2, .activation = "relu6"}), {7, 7, 2}},
      {MaxPooling2D({2, 3}, {.strides = {1, 2}, .padding = "same"}), {7, 6, 2}},
      {AveragePooling2D(3, {.strides = 2, .padding = "same"}), {7, 6, 2}},
      {GlobalAveragePooling2D(), {6, 5, 2}},
      {GlobalAveragePooling2D({.keepdims = true}), {6, 5, 2}},
      {GlobalMaxPooling2D(), {6, 5, 2}},
      {Flatten(), {6, 5, 2}},
      {Reshape({-1, 3}), {6, 2}},
      {Permute({3, 1, 2}), {6, 5, 2}},
      {ZeroPadding2D({{1, 2}, {3, 4}}), {6, 5, 2}},
      {Cropping2D({{1, 0}, {2, 1}}), {6, 5, 2}},
      {UpSampling2D({3, 2}), {6, 5, 2}},
      {BatchNormalization(
           {.moving_mean_initializer = Constant(0.5), .moving_variance_initializer = Constant(4)}),
       {6, 5, 2}},
      {BatchNormalization({.epsilon = 0.1, .gamma_initializer = Constant(3)}), {4}},
      {BatchNormalization({.axis = 1, .center = false}), {6, 2}},
      {LayerNormalization(), {6, 4}},
      {LayerNormalization({.axis = {1, 2}, .scale = false}), {6, 2, 3}},
      {UnitNormalization(), {6, 4}},
      {UnitNormalization({.axis = {1, 2}}), {6, 2, 3}},
      {StochasticDepth(0.5), {6, 4}},
      {LayerScale({.initializer = Constant(0.5)}), {6, 4}},
      {CustomScaleLayer(0.25), {6, 4}, 2},
      {WeightNormalization(Conv2D(3, 2, {.activation = "elu"})), {5, 4, 2}},
      {ReLU({.max_value = 0.5, .negative_slope = 0.1, .threshold = 0.1}), {4}},
      {LeakyReLU(0.1), {4}},
      {PReLU({.alpha_initializer = Constant(0.5), .shared_axes = {1, 2}}), {4, 3, 2}},
      {ELU(0.5), {4}},
      {Softmax(1), {4, 2}},
      {Dropout(0.25), {4}},
      {Add(), {4}, 3},
      {Subtract(), {4}, 2},
      {Multiply(), {4}, 3},
      {Average(), {4}, 3},
      {Maximum(), {4}, 2},
      {Minimum(), {4}, 2},
      {Concatenate(1), {4, 2}, 2},
      {Rescaling(0.5, 1), {4}, 1, DType::uint8},
      {adapted, {2}},
      {Normalization({.axis = 1, .mean = {1, 2}, .variance = {3, 4}, .invert = true}), {2, 3}},
      {Embedding(8, 3), {4}, 1, DType::int32},
      {Masking(), {4, 3}},
      {Conv1D(4, 3, {.strides = 2, .padding = "causal", .groups = 2, .activation = "relu"}),
       {7, 2}},
      {Conv1D(4, 3, {.padding = "same", .dilation_rate = 2, .use_bias = false}), {-1, 3}},
      {DepthwiseConv1D(3, {.depth_multiplier = 2}), {7, 3}},
      {SeparableConv1D(4, 3, {.activation = "tanh"}), {7, 2}},
      {Conv1DTranspose(4, 3, {.strides = 2, .padding = "same", .activation = "relu"}), {5, 2}},
      {Conv1DTranspose(4, 2, {.strides = 3}), {-1, 2}},
      {MaxPooling1D(3, {.strides = 2}), {7, 2}},
      {AveragePooling1D(3, {.strides = 2, .padding = "same"}), {7, 2}},
      {GlobalAveragePooling1D(), {-1, 2}},
      {GlobalMaxPooling1D({.keepdims = true}), {7, 2}},
      {ZeroPadding1D({1, 2}), {4, 2}},
      {Cropping1D({1, 0}), {4, 2}},
      {UpSampling1D(3), {4, 2}},
      {SimpleRNN(3), {5, 4}},
      {SimpleRNN(3, {.activation = "relu", .return_sequences = true, .go_backwards = true}),
       {5, 4}},
      {LSTM(3), {5, 4}},
      {LSTM(3, {.use_bias = false, .return_sequences = true}), {5, 4}},
      {GRU(3, {.return_sequences = true}), {5, 4}},
      {RNN(LSTMCell(3), {.return_sequences = true}), {5, 4}},
      {Bidirectional(LSTM(3, {.return_sequences = true})), {5, 4}},
      {Bidirectional(GRU(3), {.merge_mode = "sum"}), {5, 4}},
      {TimeDistributed(Dense(2)), {5, 4}},
      {MultiHeadAttention(2, 3), {5, 4}, 2},
      {MultiHeadAttention(2, 3, {.sliding_window = 2, .use_gate = true}), {5, 4}, 2},
      {GroupedQueryAttention(3, 4, 2, {.dropout = 0.5}), {5, 4}, 3},
      {Attention({.use_scale = true}), {5, 4}, 2},
      {AdditiveAttention(), {5, 4}, 2},
      {EinsumDense("abc,cd->adb", {3, -1}, {.bias_axes = "d"}), {5, 4}},
      {EinsumDense("...x,xyz->...yz", {2, 3}, {.activation = "relu", .bias_axes = "yz"}), {5, 4}},
      {SwiGLU(6), {5, 4}},
      {RMSNormalization(), {5, 4}},
      {GroupNormalization({.groups = 2}), {5, 4}},
      {PositionEmbedding(7), {5, 4}},
      {SinePositionEncoding(), {5, 4}},
      {RotaryEmbedding(), {5, 2, 4}},
      {ReversibleEmbedding(8, 3), {4}, 1, DType::int32},
      {TokenAndPositionEmbedding(8, 6, 3), {4}, 1, DType::int32},
  };
}

Model model_of(const Sample& sample) {
  Values inputs;
  for (int i = 0; i < sample.inputs; ++i)
    inputs.push_back(Input(sample.input, {.dtype = sample.dtype, .name = "x" + std::to_string(i)}));
  return Model(inputs, {sample.inputs == 1 ? sample.layer(inputs[0]) : sample.layer(inputs)});
}

std::vector<std::string> activation_names() {
  return {"celu",        "elu",       "exponential", "gelu",     "hard_shrink", "hard_sigmoid",
          "hard_silu",   "hard_tanh", "leaky_relu",  "linear",   "log_sigmoid", "log_softmax",
          "mish",        "relu",      "relu6",       "selu",     "sigmoid",     "silu",
          "soft_shrink", "softmax",   "softplus",    "softsign", "squareplus",  "tanh",
          "tanh_shrink", "threshold"};
}

TEST(OnnxRuntime, AgreesOnEveryKindOfLayer) {
  OnnxFiles files;
  std::set<std::string> kinds;
  int number = 0;
  std::vector<Sample> all = samples();
  for (const Sample& sample : spatial_samples()) all.push_back(sample);
  for (const Sample& sample : all) {
    std::string kind = sample.layer.base().kind();
    SCOPED_TRACE(kind);
    kinds.insert(kind);
    files.add(kind + std::to_string(number++), model_of(sample));
  }
  for (const std::string& name : activation_names())
    files.add("Activation-" + name, model_of({Activation(name), {3, 5}}));
  Value boxes = Input({5, 4}, {.name = "boxes"}), labels = Input({5}, {.name = "labels"});
  for (int64_t count : {3, 7})
    files.add("MaxNumBoundingBoxes" + std::to_string(count),
              Model({boxes, labels}, MaxNumBoundingBoxes(count).call_all({boxes, labels})));
  kinds.insert("MaxNumBoundingBoxes");
  kinds.insert(
      {"Activation", "InputLayer", "HostLayer", "CudaLayer", "Lambda"});  // HostLayer: see below
  kinds.insert({"ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"});               // loops
  // See the exporter's refusals.
  kinds.insert({"AutoContrast", "ContrastLimitedAdaptiveHistogramEqualization"});
  // What quantize() and its like make: see below.
  kinds.insert({"Quantize", "Dequantize", "QuantizedDense", "QuantizedConv2D", "QuantizedAdd",
                "QuantizedMultiply", "QuantizedConv3D", "QuantizedMaxPooling2D",
                "QuantizedAveragePooling2D", "QuantizedActivation", "QuantizedZeroPadding2D",
                "FakeQuantize", "QuantizationAware", "WeightOnlyDense", "WeightOnlyEmbedding"});
  kinds.insert({"SimpleRNNCell", "LSTMCell", "GRUCell", "StackedRNNCells"});  // parts of RNN
  for (const auto& [kind, factory] : built_in_layers()) EXPECT_TRUE(kinds.contains(kind)) << kind;
  STOKER_EXPECT_PEER("interop/check_onnx.py", files.dir());
}

// --- int8 ----------------------------------------------------------------------------------------

Tensor drawn(const Shape& shape) {
  Tensor tensor(DType::float32, shape);
  Rng rng(5);
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.data_mut<float>()[i] = rng.uniform(-1, 1);
  return tensor;
}

// A chain with everything that has an int8 form.
Model int8_candidate() {
  Value x = Input({12, 12, 3}, {.name = "image"});
  Value y = ReLU()(BatchNormalization()(Conv2D(8, 3, {.padding = "same"})(x)));
  y = ReLU()(Add()({y, Conv2D(8, 3, {.padding = "same"})(y)}));
  y = Concatenate()({MaxPooling2D(2)(y), AveragePooling2D(2)(y)});
  y = DepthwiseConv2D(3, {.padding = "same", .activation = "swish"})(ZeroPadding2D(1)(y));
  y = Dense(6, {.activation = "relu6"})(Flatten()(y));
  return Model(x, Dense(4, {.activation = "softmax"})(y));
}

TEST(OnnxRuntime, AgreesOnInt8Models) {
  OnnxFiles files;
  Model model = int8_candidate();
  files.add("int8-chain", quantize(model, drawn({32, 12, 12, 3})).model);
  files.add("int8-aware", quantize_aware(model));
  Model dense = Sequential({Input({5, 16}), Dense(24, {.activation = "gelu"}), Dense(3)});
  files.add("int8-steps", quantize(dense, drawn({32, 5, 16})).model);
  files.add("int8-weights", quantize_weights(dense, {.minimum_elements = 1}).model);
  STOKER_EXPECT_PEER("interop/check_onnx.py", files.dir());
}

// --- networks ------------------------------------------------------------------------------------

TEST(OnnxRuntime, AgreesOnNetworksDrawnAtRandom) {
  OnnxFiles files;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    files.add("random" + std::to_string(seed), random_model(seed));
  }
  STOKER_EXPECT_PEER("interop/check_onnx.py", files.dir());
}

Value conv_norm(const Value& x, int64_t filters, Size2 kernel, Size2 strides = 1) {
  Conv2D conv(filters, kernel, {.strides = strides, .padding = "same", .use_bias = false});
  return BatchNormalization()(conv(x));
}

Model resnet18() {
  Value in = Input({64, 64, 3}, {.name = "image"});
  Value x = MaxPooling2D(3, {.strides = 2, .padding = "same"})(ReLU()(conv_norm(in, 64, 7, 2)));
  for (int64_t filters : {64, 128, 256, 512})
    for (int block = 0; block < 2; ++block) {
      int64_t stride = filters > 64 && block == 0 ? 2 : 1;
      Value y = conv_norm(ReLU()(conv_norm(x, filters, 3, stride)), filters, 3);
      Value same = stride == 1 ? x : conv_norm(x, filters, 1, stride);
      x = ReLU()(Add()({y, same}));
    }
  return Model(in,
               Dense(10, {.activation = "softmax", .name = "scores"})(GlobalAveragePooling2D()(x)));
}

Model mobilenet() {
  Value in = Input({64, 64, 3});
  Value x = ReLU({.max_value = 6})(conv_norm(Rescaling(1 / 127.5, -1)(in), 16, 3, 2));
  for (int64_t filters : {32, 64, 64, 128}) {
    DepthwiseConv2D depthwise(
        3, {.strides = filters == 64 ? 2 : 1, .padding = "same", .use_bias = false});
    x = ReLU({.max_value = 6})(BatchNormalization()(depthwise(x)));
    x = ReLU({.max_value = 6})(conv_norm(x, filters, 1));
  }
  return Model(in, Dense(10, {.activation = "softmax"})(Dropout(0.2)(GlobalAveragePooling2D()(x))));
}

// Moves weights and moving statistics away from where they began.
void stir(const Model& model) {
  uint64_t seed = 0;
  for (Variable variable : model.weights()) {
    Tensor value = variable.read().clone();
    if (value.dtype() != DType::float32) continue;
    Rng rng(++seed);
    float* out = value.data_mut<float>();
    for (int64_t i = 0; i < value.elements(); ++i) out[i] += 0.02F * rng.uniform();
    variable.write(value);
  }
}

// A padding of zeros wins over negative numbers, the pooling's own does not.
TEST(OnnxRuntime, DoesNotJoinZeroPaddingToMaxPooling) {
  OnnxFiles files;
  Lambda negative([](const Value& x) { return -ops::abs(x) - 1.0; });
  files.add("padded", Sequential({Input({6, 6, 2}), negative, ZeroPadding2D({{1, 0}, {0, 2}}),
                                  MaxPooling2D(2, {.strides = 1, .padding = "same"})}));
  STOKER_EXPECT_PEER("interop/check_onnx.py", files.dir());
}

// Pictures of any size: the extents of the result are computed from those of the input.
TEST(OnnxRuntime, AgreesOnOpenSizesThatAreSplitAndJoined) {
  OnnxFiles files;
  Value wide = Input({-1, -1, 8}, {.name = "x"});
  files.add("depth_to_space", Model({wide}, {ops::depth_to_space(wide, 2)}));
  Value known = Input({6, 4, 3}, {.name = "x"});
  files.add("space_to_depth", Model({known}, {ops::space_to_depth(known, 2)}));
  STOKER_EXPECT_PEER("interop/check_onnx.py", files.dir());
}

TEST(OnnxRuntime, AgreesOnTheUsualModels) {
  OnnxFiles files;
  Sequential cnn({Input({28, 28, 1}), Conv2D(32, 3, {.activation = "relu"}), MaxPooling2D(2),
                  Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(2), Flatten(),
                  Dense(10, {.activation = "softmax"})});
  for (const auto& [name, model] : std::vector<std::pair<std::string, Model>>{
           {"cnn", cnn}, {"resnet18", resnet18()}, {"mobilenet", mobilenet()}}) {
    stir(model);
    files.add(name, model);
    files.add(name + "-fixed", model, {.batch = 3, .opset = 21}, {3});
  }
  STOKER_EXPECT_PEER("interop/check_onnx.py", files.dir());
}

}  // namespace
}  // namespace stoker::test
