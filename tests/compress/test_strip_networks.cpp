// strip() on networks of many shapes: whatever was pruned, the smaller model predicts the same.
#include <stoker/flops.h>
#include <stoker/prune.h>

#include <functional>
#include <map>

#include "compress/stirred.h"
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

struct Network {
  Model model;
  std::vector<Tensor> x;
};
using MakeNetwork = std::function<Network()>;

Tensor tokens(const Shape& shape, int64_t vocabulary) {
  Tensor ids(DType::int32, shape);
  Rng rng(5);
  for (int64_t i = 0; i < ids.elements(); ++i)
    ids.data_mut<int32_t>()[i] = int32_t(rng.integer(0, vocabulary));
  return ids;
}

Value block(const Value& x, int64_t filters, const char* activation = "relu") {
  return Activation(activation)(BatchNormalization()(Conv2D(filters, 3, {.padding = "same"})(x)));
}

Network dense_connections() {
  Value input = Input({8, 8, 3}), x = block(input, 6);
  for (int i = 0; i < 3; ++i) x = Concatenate()({x, block(x, 5)});
  return {Model(input, Dense(3)(GlobalMaxPooling2D()(x))), {normal({2, 8, 8, 3}, 1)}};
}

Network residual_of_concatenations() {
  Value input = Input({8, 8, 3}), a = block(input, 4), b = block(input, 6);
  Value x = Concatenate()({a, b});
  x = Add()({x, block(x, 10)});
  return {Model(input, Dense(3)(Flatten()(AveragePooling2D(2)(x)))), {normal({2, 8, 8, 3}, 1)}};
}

Network two_inputs_and_outputs() {
  Value picture = Input({8, 8, 3}), numbers = Input({5});
  Value a = GlobalAveragePooling2D()(block(picture, 12));
  Value b = Dense(12, {.activation = "relu"})(numbers);
  Value both = Concatenate()({a, b}), sum = Add()({a, b});
  return {Model(Values{picture, numbers}, Values{Dense(3)(both), Dense(2)(sum)}),
          {normal({2, 8, 8, 3}, 1), normal({2, 5}, 2)}};
}

Network output_in_the_middle() {
  Value input = Input({8, 8, 3}), a = block(input, 6), b = block(a, 8);
  return {Model(Values{input}, Values{a, Dense(2)(Flatten()(b))}), {normal({2, 8, 8, 3}, 1)}};
}

Network squeeze_and_excite_with_ops() {
  Value input = Input({8, 8, 3}), x = block(input, 12, "swish");
  Value s = Dense(12, {.activation = "sigmoid"})(
      Dense(4, {.activation = "relu"})(GlobalAveragePooling2D({.keepdims = true})(x)));
  Value y = x * s + 0.5 * ops::relu(x);
  return {Model(input, Conv2D(2, 1)(y)), {normal({2, 8, 8, 3}, 1)}};
}

Network places_weighed() {  // one weight per place, for all channels
  Value input = Input({8, 8, 3}), x = block(input, 10);
  Value place = Conv2D(1, 5, {.padding = "same", .activation = "sigmoid"})(x);
  return {Model(input, Dense(3)(GlobalAveragePooling2D()(Multiply()({x, place})))),
          {normal({2, 8, 8, 3}, 1)}};
}

Network constant_per_channel() {
  Value input = Input({8}), x = Dense(16, {.activation = "relu"})(input);
  Value scaled = x * Value(normal({16}, 4));
  return {Model(input, Dense(3)(Dense(8)(scaled))), {normal({3, 8}, 1)}};
}

Network grouped_between_others() {
  Value input = Input({8, 8, 4}), x = block(input, 8);
  x = Conv2D(8, 3, {.padding = "same", .groups = 8})(x);  // depthwise by another name
  x = Conv2D(12, 3, {.padding = "same", .groups = 4})(x);
  return {Model(input, Dense(3)(Flatten()(block(x, 6)))), {normal({2, 8, 8, 4}, 1)}};
}

Network depthwise_chain() {
  Value input = Input({9, 9, 3}), x = block(input, 6);
  x = DepthwiseConv2D(3, {.strides = 2, .padding = "same", .depth_multiplier = 2})(x);
  x = ReLU({.max_value = 6})(BatchNormalization()(x));
  x = SeparableConv2D(10, 3, {.padding = "same", .depth_multiplier = 2})(x);
  return {Model(input, Dense(2)(GlobalAveragePooling2D()(x))), {normal({2, 9, 9, 3}, 1)}};
}

Network sequence_of_words() {
  return {Sequential({Input({12}, {.dtype = DType::int32}), Embedding(20, 16),
                      Conv1D(24, 3, {.padding = "causal", .activation = "relu"}),
                      SpatialDropout1D(0.2), MaxPooling1D(2), Conv1D(8, 3), GlobalMaxPooling1D(),
                      Dense(10, {.activation = "tanh"}), Dense(2)}),
          {tokens({3, 12}, 20)}};
}

Network recurrent_stack() {
  Value input = Input({6, 5}), x = Dense(12, {.activation = "relu"})(input);
  x = LSTM(7, {.return_sequences = true})(x);
  x = Dense(9, {.activation = "tanh"})(x);
  x = Bidirectional(GRU(4))(x);
  return {Model(input, Dense(2)(Dense(6)(x))), {normal({2, 6, 5}, 1)}};
}

Network attention_block() {
  Value input = Input({6, 8});
  Value x = Dense(8)(input);
  Value y = MultiHeadAttention(2, 4)(x, x);
  x = Add()({x, y});
  Value inner = Dense(8)(Dense(32, {.activation = "gelu"})(x));
  return {Model(input, Dense(2)(GlobalAveragePooling1D()(Add()({x, inner})))),
          {normal({2, 6, 8}, 1)}};
}

Network shared_layers() {
  Value a = Input({8}), b = Input({8});
  Dense first(12, {.activation = "relu"}), second(6);
  Value difference = Subtract()({second(first(a)), second(first(b))});
  return {Model(Values{a, b}, Values{Dense(1)(ops::abs(difference))}),
          {normal({3, 8}, 1), normal({3, 8}, 2)}};
}

Network nested_twice() {
  Value in = Input({8, 8, 6});
  Model inner(in, Add()({in, block(in, 6)}), {.name = "inner"});
  Value input = Input({8, 8, 3}), x = block(input, 6);
  return {Model(input, Dense(2)(Flatten()(inner(inner(x))))), {normal({2, 8, 8, 3}, 1)}};
}

Network volumes() {
  return {Sequential({Input({6, 6, 6, 2}), Conv3D(8, 3, {.padding = "same", .activation = "relu"}),
                      BatchNormalization(), MaxPooling3D(2), Conv3DTranspose(6, 2, {.strides = 2}),
                      GlobalAveragePooling3D(), Dense(2)}),
          {normal({2, 6, 6, 6, 2}, 1)}};
}

Network merges_of_all_kinds() {
  Value input = Input({8}), a = Dense(10)(input), b = Dense(10)(input);
  Value x = Concatenate()({Maximum()({a, b}), Average()({a, b}), Subtract()({a, b}),
                           Multiply()({a, Dense(10, {.activation = "sigmoid"})(b)})});
  return {Model(input, Dense(3)(x)), {normal({3, 8}, 1)}};
}

Network reshapes() {
  Value input = Input({6, 4}), x = Dense(12)(input);  // [6, 12]
  x = Reshape({3, 24})(x);                            // two places in one
  x = Permute({2, 1})(Reshape({6, 12})(x));           // channels in the middle: they stay
  return {Model(input, Dense(2)(Flatten()(Dense(8)(x)))), {normal({2, 6, 4}, 1)}};
}

Network parameters_per_channel() {
  Value input = Input({8, 8, 3}), x = Conv2D(10, 3)(input);
  x = PReLU({.shared_axes = {1, 2}})(x);
  x = GroupNormalization({.groups = 5})(Conv2D(10, 3)(x));
  return {Model(input, Dense(2)(Flatten()(block(x, 6)))), {normal({2, 8, 8, 3}, 1)}};
}

Network over_time() {
  return {
      Sequential({Input({4, 8, 8, 3}), TimeDistributed(Conv2D(6, 3, {.activation = "relu"})),
                  TimeDistributed(Flatten()), LSTM(5), Dense(8, {.activation = "relu"}), Dense(2)}),
      {normal({2, 4, 8, 8, 3}, 1)}};
}

Network soft_choice() {  // a softmax over channels is no place to remove one
  Value input = Input({8}), x = Dense(12)(input);
  Value choice = Dense(12, {.activation = "softmax"})(x);
  return {Model(input, Dense(2)(Dense(6)(Multiply()({x, choice})))), {normal({3, 8}, 1)}};
}

const std::map<std::string, MakeNetwork>& networks() {
  static const std::map<std::string, MakeNetwork> all = {
      {"DenseConnections", dense_connections},
      {"ResidualOfConcatenations", residual_of_concatenations},
      {"TwoInputsAndOutputs", two_inputs_and_outputs},
      {"OutputInTheMiddle", output_in_the_middle},
      {"SqueezeAndExciteWithOps", squeeze_and_excite_with_ops},
      {"PlacesWeighed", places_weighed},
      {"ConstantPerChannel", constant_per_channel},
      {"GroupedBetweenOthers", grouped_between_others},
      {"DepthwiseChain", depthwise_chain},
      {"SequenceOfWords", sequence_of_words},
      {"RecurrentStack", recurrent_stack},
      {"AttentionBlock", attention_block},
      {"SharedLayers", shared_layers},
      {"NestedTwice", nested_twice},
      {"Volumes", volumes},
      {"MergesOfAllKinds", merges_of_all_kinds},
      {"Reshapes", reshapes},
      {"ParametersPerChannel", parameters_per_channel},
      {"OverTime", over_time},
      {"SoftChoice", soft_choice},
  };
  return all;
}

class StripNetworks : public testing::TestWithParam<std::string> {
 protected:
  OnDevice device_{"cpu", 7};
};
INSTANTIATE_TEST_SUITE_P(All, StripNetworks, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, make] : networks()) names.push_back(name);
                           return names;
                         }()),
                         [](const auto& name) { return name.param; });

TEST_P(StripNetworks, PredictTheSameWithoutTheChannels) {
  for (PruneScope scope : {PruneScope::layer, PruneScope::global}) {
    Network network = networks().at(GetParam())();
    stir(network.model, 3);
    PruneReport report = prune(network.model, {.kind = PruneKind::channels, .scope = scope});
    Model smaller = strip(network.model);
    EXPECT_GT(report.removed, 0);
    EXPECT_LT(smaller.count_params(), network.model.count_params());
    expect_near(smaller.predict_all(network.x), network.model.predict_all(network.x), 1e-4);
    // Its file holds the masks: what is loaded loses the same channels.
    TempDir folder;
    network.model.save(folder / "m.stoker");
    Model again = strip(load_model(folder / "m.stoker"));
    EXPECT_EQ(again.count_params(), smaller.count_params());
    expect_near(again.predict_all(network.x), smaller.predict_all(network.x), 1e-6);
  }
}

// Unstructured zeros, however they fall, change nothing in what strip() returns.
TEST_P(StripNetworks, PredictTheSameAfterSingleWeightsWent) {
  Network network = networks().at(GetParam())();
  stir(network.model, 4);
  prune(network.model, {.sparsity = 0.97, .scope = PruneScope::global});
  Model smaller = strip(network.model);
  expect_near(smaller.predict_all(network.x), network.model.predict_all(network.x), 1e-4);
}

}  // namespace
}  // namespace stoker
