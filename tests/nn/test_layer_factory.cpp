// Every kind of layer is the same after its configuration was read back.
#include <map>
#include <set>

#include <stoker/residual_layers.h>

#include "nn/layer_factory.h"
#include "nn/running.h"
#include "nn/spatial_samples.h"

namespace stoker::test {
namespace {

template <class Options>
Options seeded() {
  Options options;
  options.kernel_initializer = GlorotUniform({.seed = 1});
  options.recurrent_initializer = Orthogonal(1, {.seed = 2});
  return options;
}
Layer seeded_gru() {
  GRUCellOptions options = seeded<GRUCellOptions>();
  options.activation = "softsign";
  return GRUCell(4, options);
}

// One of each, with options that are not the defaults.
std::vector<Sample> samples() {
  return {
      {Input({4}, {.dtype = DType::float32, .name = "in"}), {4}},
      {Dense(3, {.activation = "relu",
                 .use_bias = false,
                 .kernel_initializer = RandomNormal({.mean = 1, .stddev = 2, .seed = 3}),
                 .kernel_regularizer = L1L2(0.1, 0.2),
                 .activity_regularizer = L2(0.3)}),
       {4}},
      {Conv2D(4, {3, 2},
              {.strides = {2, 1},
               .padding = "same",
               .groups = 2,
               .activation = "tanh",
               .kernel_initializer = HeNormal({.seed = 1}),
               .bias_initializer = Constant(0.5),
               .bias_regularizer = L1(0.5)}),
       {6, 6, 2}},
      {DepthwiseConv2D(3, {.strides = 2,
                           .padding = "same",
                           .depth_multiplier = 2,
                           .activation = "relu6",
                           .depthwise_initializer = Orthogonal(2, {.seed = 1}),
                           .depthwise_regularizer = "l2"}),
       {6, 6, 2}},
      {SeparableConv2D(4, 3,
                       {.dilation_rate = 2,
                        .depth_multiplier = 2,
                        .depthwise_initializer = GlorotUniform({.seed = 1}),
                        .pointwise_initializer = GlorotUniform({.seed = 2}),
                        .depthwise_regularizer = L1(0.25),
                        .pointwise_regularizer = L2(0.75)}),
       {7, 7, 2}},
      {MaxPooling2D({2, 3}, {.strides = {1, 2}, .padding = "same"}), {6, 6, 2}},
      {AveragePooling2D(3, {.strides = 2}), {6, 6, 2}},
      {GlobalAveragePooling2D({.keepdims = true}), {6, 6, 2}},
      {GlobalMaxPooling2D({.keepdims = true}), {6, 6, 2}},
      {Flatten(), {6, 6, 2}},
      {Reshape({-1, 3}), {6, 2}},
      {Permute({2, 1}), {6, 2}},
      {ZeroPadding2D({{1, 2}, {3, 4}}), {6, 6, 2}},
      {Cropping2D({{1, 0}, {2, 1}}), {6, 6, 2}},
      {UpSampling2D({1, 2}), {6, 6, 2}},
      {BatchNormalization({.axis = 1,
                           .momentum = 0.9,
                           .epsilon = 0.1,
                           .center = false,
                           .gamma_initializer = Constant(2),
                           .moving_mean_initializer = Constant(1),
                           .moving_variance_initializer = Constant(4),
                           .gamma_regularizer = "l2"}),
       {6, 2}},
      {LayerNormalization(
           {.axis = {1, 2}, .epsilon = 0.1, .scale = false, .beta_initializer = Constant(2)}),
       {6, 2}},
      {UnitNormalization({.axis = {1, 2}}), {6, 2}},
      {StochasticDepth(0.5), {6, 2}},
      {LayerScale({.initializer = Constant(0.5)}), {6, 2}},
      {CustomScaleLayer(0.25), {6, 2}, 2},
      {WeightNormalization(
           Dense(3, {.activation = "elu", .kernel_initializer = HeNormal({.seed = 1})})),
       {4}},
      {Activation("gelu"), {4}},
      {ReLU({.max_value = 0.5, .negative_slope = 0.1, .threshold = 0.1}), {4}},
      {LeakyReLU(0.1), {4}},
      {PReLU({.alpha_initializer = Constant(0.5), .alpha_regularizer = L1(1), .shared_axes = {1}}),
       {4, 2}},
      {ELU(0.5), {4}},
      {Softmax(1), {4, 2}},
      {Dropout(0.25), {4}},
      {Add(), {4}, 2},
      {Subtract(), {4}, 2},
      {Multiply(), {4}, 3},
      {Average(), {4}, 3},
      {Maximum(), {4}, 2},
      {Minimum(), {4}, 2},
      {Concatenate(1), {4, 2}, 2},
      {Rescaling(0.5, 1), {4}},
      {Normalization({.axis = 1, .mean = {1, 2}, .variance = {3, 4}, .invert = true}), {2, 3}},
      {Normalization({.axis = std::nullopt}), {2, 3}},
      {Embedding(
           8, 3,
           {.embeddings_initializer = RandomUniform({.seed = 1}), .embeddings_regularizer = "l1"}),
       {4},
       1,
       DType::int32},
      {Embedding(8, 3, {.embeddings_initializer = Constant(2), .mask_zero = true}),
       {4},
       1,
       DType::int32},
      {Masking(0.5), {4, 2}},
      {Conv1D(4, 3,
              {.strides = 2,
               .padding = "causal",
               .dilation_rate = 2,
               .groups = 2,
               .activation = "tanh",
               .kernel_initializer = HeNormal({.seed = 1}),
               .bias_initializer = Constant(1)}),
       {7, 2}},
      {DepthwiseConv1D(3, {.strides = 2,
                           .padding = "same",
                           .depth_multiplier = 2,
                           .use_bias = false,
                           .depthwise_initializer = HeNormal({.seed = 1})}),
       {7, 2}},
      {SeparableConv1D(4, 3,
                       {.padding = "same",
                        .dilation_rate = 2,
                        .depth_multiplier = 2,
                        .depthwise_initializer = HeNormal({.seed = 1}),
                        .pointwise_initializer = HeNormal({.seed = 2})}),
       {7, 2}},
      {Conv1DTranspose(4, 3,
                       {.strides = 3,
                        .padding = "same",
                        .output_padding = 1,
                        .kernel_initializer = HeNormal({.seed = 1})}),
       {5, 2}},
      {MaxPooling1D(3, {.strides = 2, .padding = "same"}), {7, 2}},
      {AveragePooling1D(3), {7, 2}},
      {GlobalAveragePooling1D({.keepdims = true}), {7, 2}},
      {GlobalMaxPooling1D(), {7, 2}},
      {ZeroPadding1D({1, 2}), {4, 2}},
      {Cropping1D({0, 2}), {4, 2}},
      {UpSampling1D(3), {4, 2}},
      {SimpleRNN(3, {.activation = "relu",
                     .kernel_initializer = GlorotUniform({.seed = 1}),
                     .recurrent_initializer = Orthogonal(1, {.seed = 2}),
                     .recurrent_regularizer = L2(0.5),
                     .return_sequences = true}),
       {4, 2}},
      {LSTM(3, {.recurrent_activation = "hard_sigmoid",
                .kernel_initializer = GlorotUniform({.seed = 1}),
                .recurrent_initializer = Orthogonal(1, {.seed = 2}),
                .unit_forget_bias = false,
                .activity_regularizer = L1(0.25),
                .go_backwards = true}),
       {4, 2}},
      {GRU(3, {.kernel_initializer = GlorotUniform({.seed = 1}),
               .recurrent_initializer = Orthogonal(1, {.seed = 2}),
               .reset_after = false}),
       {4, 2}},
      {RNN(std::vector<Layer>{LSTMCell(3, seeded<LSTMCellOptions>()), Layer(seeded_gru())},
           {.return_sequences = true, .zero_output_for_mask = true}),
       {4, 2}},
      {SimpleRNNCell(4, seeded<SimpleRNNCellOptions>()), {4}, 2},
      {LSTMCell(4, seeded<LSTMCellOptions>()), {4}, 3},
      {seeded_gru(), {4}, 2},
      {StackedRNNCells({seeded_gru(), seeded_gru()}), {4}, 3},
      {Bidirectional(LSTM(3, {.kernel_initializer = GlorotUniform({.seed = 1}),
                              .recurrent_initializer = Orthogonal(1, {.seed = 2})}),
                     {.merge_mode = "ave"}),
       {4, 2}},
      {TimeDistributed(Dense(3, {.kernel_initializer = GlorotUniform({.seed = 1})})), {4, 2}},
      {MultiHeadAttention(3, 2,
                          {.value_dim = 4,
                           .use_bias = false,
                           .output_shape = {5},
                           .attention_axes = Axes(1),
                           .sliding_window = 2,
                           .kernel_initializer = HeNormal({.seed = 1}),
                           .kernel_regularizer = L2(0.5),
                           .use_gate = true}),
       {4, 2},
       2},
      {GroupedQueryAttention(2, 4, 2,
                             {.dropout = 0.25,
                              .kernel_initializer = HeNormal({.seed = 1}),
                              .bias_initializer = Constant(1)}),
       {4, 2},
       3},
      {Attention({.use_scale = true, .score_mode = "concat", .dropout = 0.25}), {4, 2}, 2},
      {AdditiveAttention({.use_scale = false, .dropout = 0.25}), {4, 2}, 2},
      {EinsumDense("abc,cd->abd", {-1, 3},
                   {.activation = "tanh",
                    .bias_axes = "d",
                    .kernel_initializer = HeNormal({.seed = 1}),
                    .bias_regularizer = L1(0.5)}),
       {4, 2}},
      {SwiGLU(3, {.use_bias = true, .kernel_initializer = HeNormal({.seed = 1})}), {4, 2}},
      {RMSNormalization({.axis = {1, 2}, .epsilon = 0.5}), {4, 2}},
      {GroupNormalization({.groups = 2, .axis = 1, .gamma_initializer = Constant(2)}), {4, 2}},
      {PositionEmbedding(6, {.initializer = HeNormal({.seed = 1})}), {4, 2}},
      {SinePositionEncoding({.max_wavelength = 100}), {4, 2}},
      {RotaryEmbedding({.max_wavelength = 100, .scaling_factor = 2}), {4, 2}},
      {ReversibleEmbedding(8, 3,
                           {.tie_weights = false,
                            .embeddings_initializer = RandomUniform({.seed = 1}),
                            .mask_zero = true,
                            .reverse_dtype = "float32",
                            .logit_soft_cap = 3}),
       {4},
       1,
       DType::int32},
      {TokenAndPositionEmbedding(8, 6, 3, {.embeddings_initializer = RandomUniform({.seed = 1})}),
       {4},
       1,
       DType::int32},
  };
}

Tensor result(const Layer& layer, const Sample& sample) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < sample.inputs; ++i)
    inputs.push_back(sample.dtype == DType::int32
                         ? Tensor::full(sample.input.prepend(2), i + 1, DType::int32)
                         : random_tensor(sample.input.prepend(2), uint64_t(i + 1)));
  return run(inputs, [&](Graph&, const Values& x) { return layer.call_all(x); },
             {.training = true})[0];
}

TEST(LayerFactory, MakesEveryKindAgain) {
  std::set<std::string> kinds = {"SpectralNormalization"};  // see below
  kinds.insert("MaxNumBoundingBoxes");                      // test_bounding_boxes.cpp
  std::vector<Sample> all = samples();
  for (const Sample& sample : spatial_samples()) all.push_back(sample);
  for (const Sample& sample : all) {
    std::string kind = sample.layer.base().kind();
    SCOPED_TRACE(kind);
    kinds.insert(kind);
    Attrs config = full_config(sample.layer.base());
    Layer again = layer_from_config(kind, "again", config);
    EXPECT_EQ(again.base().kind(), kind);
    EXPECT_EQ(again.name(), "again");
    EXPECT_EQ(to_string(full_config(again.base())), to_string(config));
    EXPECT_TRUE(near(result(again, sample), result(sample.layer, sample)));
    EXPECT_EQ(again.base().parameters(), sample.layer.base().parameters());
  }
  // What quantize() and its like make: tests/compress saves and loads them.
  kinds.insert({"Quantize", "Dequantize", "QuantizedDense", "QuantizedConv2D", "QuantizedAdd",
                "QuantizedConv3D", "QuantizedMultiply", "QuantizedMaxPooling2D",
                "QuantizedAveragePooling2D", "QuantizedActivation", "QuantizedZeroPadding2D",
                "FakeQuantize", "QuantizationAware", "WeightOnlyDense", "WeightOnlyEmbedding"});
  for (const auto& [kind, factory] : built_in_layers())
    EXPECT_TRUE(kinds.contains(kind) || kind == "HostLayer" || kind == "CudaLayer" ||
                kind == "Lambda")
        << kind;
}

// Its power iteration starts from a vector of its own, and every step of training moves it.
TEST(LayerFactory, MakesSpectralNormalizationAgain) {
  Layer layer = SpectralNormalization(
      Conv2D(3, 2, {.strides = 2, .kernel_initializer = GlorotUniform({.seed = 1})}),
      {.power_iterations = 2});
  Attrs config = full_config(layer.base());
  Layer again = layer_from_config("SpectralNormalization", "again", config);
  EXPECT_EQ(to_string(full_config(again.base())), to_string(config));
  Tensor x = random_tensor({2, 4, 4, 2});
  EXPECT_TRUE(near(run_layer(again, x), run_layer(layer, x)));
  EXPECT_EQ(again.weights().size(), 3U);
  EXPECT_EQ(again.trainable_weights().size(), 2U);
}

// The order of files that are out there.
TEST(LayerFactory, WritesOptionsInTheOrderOfTheFileFormat) {
  std::map<std::string, std::string> written;
  for (const Sample& sample : samples())
    written.emplace(sample.layer.base().kind(), to_string(sample.layer.base().config()));
  EXPECT_EQ(written["Conv2D"],
            "{filters: 4, groups: 2, kernel_size: [3, 2], strides: [2, 1], padding: same, "
            "dilation_rate: [1, 1], kernel_initializer: HeNormal, kernel_initializer.seed: 1, "
            "activation: tanh, use_bias: true, bias_initializer: Constant, "
            "bias_initializer.value: 0.5, bias_regularizer: [0.5, 0]}");
  EXPECT_EQ(written["BatchNormalization"],
            "{axis: 1, momentum: 0.9, epsilon: 0.1, center: false, scale: true, "
            "beta_initializer: Zeros, gamma_initializer: Constant, gamma_initializer.value: 2, "
            "gamma_regularizer: [0, 0.01], moving_mean_initializer: Constant, "
            "moving_mean_initializer.value: 1, moving_variance_initializer: Constant, "
            "moving_variance_initializer.value: 4}");
  EXPECT_EQ(written["ReLU"], "{negative_slope: 0.1, threshold: 0.1, max_value: 0.5}");
  EXPECT_EQ(written["Normalization"], "{invert: true, axis: 1, mean: [1, 2], variance: [3, 4]}");
}

TEST(LayerFactory, KeepsAFrozenLayerFrozen) {
  Layer dense = Dense(3);
  dense.set_trainable(false);
  EXPECT_FALSE(layer_from_config("Dense", "d", full_config(dense.base())).trainable());
}

TEST(LayerFactory, ReadsWholeNumbersWhereAFileWroteThem) {
  Layer layer =
      layer_from_config("Rescaling", "r", {{"scale", int64_t(2)}, {"offset", int64_t(1)}});
  EXPECT_TRUE(near(run_layer(layer, floats({1}, {1, 1})), {3}));
}

TEST(LayerFactory, RefusesOptionsThatALayerDoesNotHave) {
  auto message = [](const char* kind, const Attrs& config) {
    return message_of<ValueError>([&] { layer_from_config(kind, "l", config); });
  };
  EXPECT_EQ(message("Rescaling", {{"scale", 1.0}, {"ofset", 1.0}}),
            "Rescaling \"l\": unknown option \"ofset\"; there are scale, offset");
  EXPECT_EQ(
      message("Dense", {{"units", 3.5}}),
      "Dense \"l\": wrong type of option \"units\": expected a whole number, got {units: 3.5}");
  EXPECT_EQ(message("Dense", {}), "Dense \"l\": option \"units\" is missing");
  EXPECT_EQ(message("Flatten", {{"axis", int64_t(1)}}),
            "Flatten \"l\": unknown option \"axis\"; it has no options");
  EXPECT_EQ(
      message("Dense", {{"units", int64_t(1)},
                        {"kernel_initializer", std::string("RandomNormal")},
                        {"kernel_initializer.deviation", 1.0}}),
      "Dense \"l\": kernel_initializer: RandomNormal: unknown option \"deviation\"; there are "
      "mean, stddev, seed");
}

TEST(LayerFactory, TakesTheCallersOwnKindsFirst) {
  LayerFactories custom = {{"Lambda", [](const Attrs& config) {
                              double factor = config.get<double>("factor");
                              return Lambda([factor](const Value& x) { return x * factor; });
                            }}};
  Layer layer = layer_from_config("Lambda", "mine", {{"factor", 4.0}}, custom);
  EXPECT_EQ(layer.name(), "mine");
  EXPECT_TRUE(near(run_layer(layer, floats({1}, {1, 1})), {4}));
}

TEST(LayerFactory, SaysWhatItCannotMake) {
  std::string unknown = message_of<ValueError>([] { layer_from_config("Dence", "", {}); });
  EXPECT_NE(
      unknown.find("unknown layer kind \"Dence\"; there are Activation, ActivityRegularization, "),
      std::string::npos)
      << unknown;
  auto says_how = [](const std::string& text, const std::string& begin, const char* key) {
    EXPECT_EQ(text, begin + ", which is not in the file; pass " +
                        "it: load_model(path, {.custom_objects = {.layers = {{\"" + key +
                        "\", [](const Attrs& config) { return ...; }}}}})");
  };
  says_how(message_of<ValueError>([] { layer_from_config("HostLayer", "slow", {}); }),
           "HostLayer \"slow\" is C++ code", "slow");
  says_how(message_of<ValueError>([] { layer_from_config("Lambda", "f", {}); }),
           "Lambda \"f\" is a C++ function", "f");
  says_how(message_of<ValueError>([] { layer_from_config("Dense", "d", {}, {}, {.own = true}); }),
           "kind \"Dense\" is C++ code", "Dense");
  Layer own = Dense(1, {.activation = [](const Value& x) { return x; }});
  std::string text =
      message_of<ValueError>([&] { layer_from_config("Dense", "d", own.base().config()); });
  EXPECT_EQ(text.find("the activation of Dense \"d\" is a C++ function"), 0U) << text;
}

}  // namespace
}  // namespace stoker::test
