// Which networks quantize() runs in int8, and what of them stays in float.
#include <stoker/applications.h>
#include <stoker/quantize.h>

#include "compress/int8_helpers.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using namespace test;

class Int8Networks : public testing::Test {
 protected:
  OnDevice device_{"cpu", 7};
};

Value residual_block(const Value& x, int64_t filters, const std::string& name) {
  Value y = Conv2D(filters, 3, {.padding = "same", .use_bias = false, .name = name + "_a"})(x);
  y = ReLU({.name = name + "_relu"})(BatchNormalization({.name = name + "_norm"})(y));
  y = BatchNormalization({.name = name + "_norm_b"})(
      Conv2D(filters, 3, {.padding = "same", .name = name + "_b"})(y));
  return ReLU({.name = name + "_out"})(Add({.name = name + "_add"})({x, y}));
}

TEST_F(Int8Networks, KeepsResidualsConcatenationsAndPoolingInInt8) {
  Value x = Input({16, 16, 3}, {.name = "image"});
  Value y = Conv2D(8, 3, {.padding = "same", .activation = "relu", .name = "stem"})(x);
  y = residual_block(y, 8, "block");
  Value a = SeparableConv2D(12, 3, {.padding = "same", .activation = "relu", .name = "wide"})(y);
  Value b = AveragePooling2D(2, {.strides = 1, .padding = "same", .name = "mean"})(y);
  y = Concatenate(-1, {.name = "both"})({a, b});
  y = ZeroPadding2D(1, {.name = "edge"})(y);
  y = DepthwiseConv2D(3, {.strides = 2, .activation = "swish", .name = "depth"})(y);
  y = Dropout(0.2, {.name = "drop"})(y);
  y = GlobalAveragePooling2D({.name = "global"})(y);
  Model model(x, Dense(5, {.name = "head"})(y));
  shake_norms(model);
  Tensor images = normal({32, 16, 16, 3}, 1);
  Quantized q = quantize(model, images);
  SCOPED_TRACE(q.report.text());
  EXPECT_TRUE(q.report.in_float.empty());
  EXPECT_EQ(count_kind(q.model, "Quantize"), 1);
  EXPECT_EQ(count_kind(q.model, "Dequantize"), 0);
  EXPECT_EQ(count_kind(q.model, "Dropout"), 0);
  EXPECT_TRUE(says(q.report.text(), {"block_add: Add + relu → int8", "depth: Activation → int8"}));
  EXPECT_LT(apart(q.model.predict({images}), model.predict({images})), 0.08);
}

TEST_F(Int8Networks, RunsSequencesAndVolumesInInt8) {
  Model sequence = Sequential(
      {Input({24, 5}), Conv1D(8, 3, {.padding = "causal", .dilation_rate = 2, .name = "causal"}),
       BatchNormalization(), ReLU(),
       Conv1D(12, 3, {.strides = 2, .padding = "same", .activation = "relu", .name = "same"}),
       DepthwiseConv1D(3, {.padding = "same", .activation = "tanh", .name = "depth"}),
       SeparableConv1D(10, 3, {.activation = "relu", .name = "separable"}), MaxPooling1D(2),
       AveragePooling1D(2, {.strides = 1}), UpSampling1D(2), Cropping1D(1),
       GlobalAveragePooling1D(), Dense(4, {.name = "head"})});
  Model volume = Sequential(
      {Input({6, 8, 8, 3}), Conv3D(8, 3, {.padding = "same", .activation = "relu", .name = "same"}),
       Conv3D(8, 2, {.strides = 2, .groups = 2, .activation = "relu", .name = "groups"}),
       MaxPooling3D(2, {.strides = 1, .padding = "same"}),
       Conv3D(6, {3, 1, 1}, {.activation = "relu", .name = "deep"}), GlobalMaxPooling3D(),
       Dense(4, {.name = "head"})});
  for (const auto& [model, shape] :
       {std::pair(sequence, Shape{16, 24, 5}), std::pair(volume, Shape{16, 6, 8, 8, 3})}) {
    Tensor x = normal(shape, 1);
    Quantized q = quantize(model, x, {.weight_bits = 7});
    SCOPED_TRACE(q.report.text());
    EXPECT_TRUE(q.report.in_float.empty());
    EXPECT_EQ(count_kind(q.model, "Quantize"), 1);
    EXPECT_EQ(count_kind(q.model, "Dequantize"), 0);
    Tensor got = q.model.predict({x});
    EXPECT_LT(apart(got, model.predict({x})), 0.1);
    TempDir dir;
    q.model.save(dir / "model");
    EXPECT_EQ(load_model(dir / "model").predict({x}), got);
    OnDevice reference("reference");
    EXPECT_EQ(load_model(dir / "model").predict({x}), got);
  }
}

TEST_F(Int8Networks, RunsSqueezeAndExcitationInInt8) {
  Value x = Input({12, 12, 3}, {.name = "image"});
  Value y = Conv2D(16, 3, {.activation = "swish", .name = "stem"})(x);
  Value gate = GlobalAveragePooling2D({.keepdims = true, .name = "squeeze"})(y);
  gate = Conv2D(4, 1, {.activation = "relu", .name = "reduce"})(gate);
  gate = Conv2D(16, 1, {.activation = "sigmoid", .name = "expand"})(gate);
  Value left = Multiply({.name = "excite"})({y, gate}), right = gate * y;  // either order, and ops
  y = Multiply({.name = "square"})({left, right});
  Model model(x, Dense(4, {.name = "head"})(Flatten()(y)));
  Tensor images = normal({16, 12, 12, 3}, 1);
  Quantized q = quantize(model, images, {.weight_bits = 7});
  SCOPED_TRACE(q.report.text());
  EXPECT_TRUE(q.report.in_float.empty());
  EXPECT_EQ(count_kind(q.model, "QuantizedMultiply"), 3);
  EXPECT_EQ(count_kind(q.model, "Dequantize"), 0);
  Tensor got = q.model.predict({images});
  EXPECT_LT(apart(got, model.predict({images})), 0.1);
  TempDir dir;
  q.model.save(dir / "model");
  OnDevice reference("reference");
  EXPECT_EQ(load_model(dir / "model").predict({images}), got);
}

TEST_F(Int8Networks, RunsNetworksWithGatesAndSkipsInInt8) {
  Value x = Input({16, 16, 3}, {.name = "image"});
  auto twice = [](const Value& from, int64_t filters) {
    Value y = Conv2D(filters, 3, {.padding = "same", .activation = "relu"})(from);
    return Conv2D(filters, 3, {.padding = "same", .activation = "relu"})(y);
  };
  Value first = twice(x, 8), deep = twice(MaxPooling2D(2)(first), 16);
  Value up = twice(Concatenate(-1)({UpSampling2D(2)(deep), first}), 8);
  Model unet(x, Conv2D(2, 1, {.name = "classes"})(up));
  Quantized q = quantize(unet, normal({4, 16, 16, 3}, 1));
  EXPECT_TRUE(q.report.in_float.empty()) << q.report.text();
  const std::vector<std::string> ends = {"rescaling", "normalization", "flatten", "predictions"};
  for (const Model& model :
       {applications::MobileNetV3Small({.input_shape = {32, 32, 3}, .classes = 5}),
        applications::EfficientNetB0({.input_shape = {32, 32, 3}, .classes = 5})}) {
    Quantized network = quantize(model, normal({4, 32, 32, 3}, 1));
    EXPECT_GT(*network.report.int8_share, 0.9);
    for (const KeptInFloat& one : network.report.in_float)
      EXPECT_EQ(std::ranges::count(ends, one.layer), 1) << one.layer << ": " << one.reason;
  }
}

TEST_F(Int8Networks, RunsNetworksOfTheHouse) {
  for (const char* name : {"cnn", "resnet18", "mobilenet", "mlp"}) {
    SCOPED_TRACE(name);
    Model model = applications::by_name(name, {.input_shape = {32, 32, 3}, .classes = 5});
    Tensor x = normal({8, 32, 32, 3}, 1);
    Quantized q = quantize(model, x);
    SCOPED_TRACE(q.report.text());
    EXPECT_GT(*q.report.int8_share, 0.9);
    EXPECT_EQ(q.model.predict({x}).shape(), (Shape{8, 5}));
    EXPECT_LT(apart(q.model.predict({x}), model.predict({x})), 0.25);
  }
}

TEST_F(Int8Networks, LooksActivationsUp) {
  for (const char* name : {"swish", "gelu", "tanh", "sigmoid", "hard_sigmoid", "elu", "relu6",
                           "leaky_relu", "softplus"}) {
    SCOPED_TRACE(name);
    Model model = Sequential(
        {Input({20}), Dense(32, {.activation = name, .name = "a"}), Dense(4, {.name = "b"})});
    Tensor x = normal({64, 20}, 1);
    Quantized q = quantize(model, x);
    EXPECT_EQ(count_kind(q.model, "Dequantize"), 0) << q.report.text();
    EXPECT_LT(apart(q.model.predict({x}), model.predict({x})), 0.05);
  }
}

TEST_F(Int8Networks, LeavesInFloatWhatHasNoInt8FormAndSaysWhy) {
  Value x = Input({6, 8}, {.name = "steps"});
  Value y = LSTM(16, {.name = "lstm"})(x);
  y = LayerNormalization({.name = "norm"})(Dense(12, {.name = "dense"})(y));
  Model model(x, Dense(3, {.activation = "softmax", .name = "head"})(y));
  Tensor data = normal({32, 6, 8}, 1);
  Quantized q = quantize(model, data);
  std::string text = q.report.text();
  EXPECT_TRUE(says(text, {"In float: lstm: LSTM has no int8 form",
                          "In float: norm: LayerNormalization has no int8 form"}));
  EXPECT_EQ(count_kind(q.model, "Quantize"), 2);
  expect_near(q.model.predict({data}), model.predict({data}), 0.03);
}

TEST_F(Int8Networks, OpensModelsInsideOfModels) {
  Value x = Input({10}, {.name = "x"});
  Model encoder = Sequential({Input({10}), Dense(16, {.activation = "relu", .name = "dense"})},
                             {.name = "encoder"});
  Model model(x, Dense(3, {.name = "head"})(encoder(x)));
  Tensor data = normal({32, 10}, 1);
  Quantized q = quantize(model, data);
  EXPECT_TRUE(says(q.report.text(), {"encoder/dense: Dense + relu → int8"}));
  EXPECT_LT(apart(q.model.predict({data}), model.predict({data})), 0.05);
  Quantized some = quantize(model, data, {.exclude = {"encoder"}});
  EXPECT_TRUE(says(some.report.text(), {"In float: encoder/dense: is in .exclude"}));
  EXPECT_LT(apart(some.model.predict({data}), model.predict({data})), 0.05);
}

TEST_F(Int8Networks, GivesALayerThatIsCalledTwiceOneSetOfScales) {
  Value a = Input({10}, {.name = "a"}), b = Input({10}, {.name = "b"});
  Dense shared(16, {.activation = "relu", .name = "shared"});
  Value y = Concatenate(-1, {.name = "join"})({shared(a), shared(b)});
  Model model({a, b}, {Dense(3, {.name = "head"})(y)});
  Tensor first = normal({32, 10}, 1), second = normal({32, 10}, 2);
  Quantized q = quantize(model, {first, second});
  EXPECT_EQ(count_kind(q.model, "QuantizedDense"), 2) << q.report.text();
  EXPECT_LT(apart(q.model.predict({first, second}), model.predict({first, second})), 0.05);
}

class Doubling : public LayerBase {
 public:
  std::string kind() const override { return "Doubling"; }
  void build(const std::vector<Shape>&) override {
    factor_ = add_weight("factor", {}, {.initializer = "ones"});
  }
  Values call(const Values& inputs, CallContext&) override { return {inputs[0] * factor_ * 2.0}; }

 private:
  Variable factor_;
};

TEST_F(Int8Networks, KeepsOwnLayersInFloat) {
  Value x = Input({10}, {.name = "x"});
  Layer own = make_layer<Doubling>();
  own.base().set_name("own");
  Model model(x, Dense(3, {.name = "b"})(own(Dense(16, {.name = "a"})(x))));
  own.set_weights({Tensor::full({}, 1.5)});
  Tensor data = normal({32, 10}, 1);
  EXPECT_TRUE(says(error_of<ValueError>([&] { quantize(model, data); }),
                   {"\"own\" is a Doubling", "with the options: .custom_objects"}));
  CustomObjects objects;
  objects.layers["Doubling"] = [](const Attrs&) { return make_layer<Doubling>(); };
  Quantized q = quantize(model, data, {.custom_objects = objects});
  EXPECT_TRUE(says(q.report.text(), {"In float: own: it is a class of the program"}));
  EXPECT_LT(apart(q.model.predict({data}), model.predict({data})), 0.05);
}

TEST_F(Int8Networks, TakesImagesOfAnySize) {
  Value x = Input({-1, -1, 3}, {.name = "image"});
  Value y = Conv2D(8, 3, {.padding = "same", .activation = "relu"})(x);
  y = GlobalMaxPooling2D()(MaxPooling2D(2)(Conv2D(12, 3, {.activation = "relu"})(y)));
  Model model(x, Dense(4)(y));
  Quantized q = quantize(model, normal({8, 14, 10, 3}, 1));
  for (const Shape& shape : {Shape{2, 14, 10, 3}, Shape{3, 9, 20, 3}}) {
    Tensor image = normal(shape, 5);
    EXPECT_LT(apart(q.model.predict({image}), model.predict({image})), 0.1);
  }
}

TEST_F(Int8Networks, ComputesTheSameBitsOnTheReference) {
  Value x = Input({9, 9, 3}, {.name = "image"});
  Value y = Conv2D(16, 3, {.padding = "same", .activation = "relu"})(x);
  y = Add()({y, DepthwiseConv2D(3, {.padding = "same"})(y)});
  y = Conv2D(8, 3, {.strides = 2, .activation = "tanh"})(AveragePooling2D(2)(y));
  Model model(x, Dense(4)(Flatten()(y)));
  Tensor images = normal({6, 9, 9, 3}, 1);
  Quantized q = quantize(model, images, {.weight_bits = 7});  // exact on every processor
  TempDir dir;
  q.model.save(dir / "model");
  Tensor on_cpu = q.model.predict({images});
  OnDevice reference("reference");
  Model again = load_model(dir / "model");
  EXPECT_EQ(again.predict({images}), on_cpu);
}

}  // namespace
}  // namespace stoker
