// Mixed precision: what is computed in sixteen bits and what is not, and that it learns all the
// same.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/graph.h"
#include "train/helpers.h"
#include "train/step/program_cache.h"

namespace stoker::test {

namespace {

class Policy {
 public:
  explicit Policy(const std::string& policy) : before_(default_context().policy) {
    set_global_policy(policy);
  }
  ~Policy() { default_context().policy = before_; }
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

 private:
  std::string before_;
};

TEST(Precision, AnUnknownPolicyIsRefusedByName) {
  try {
    set_global_policy("mixed_float8");
    ADD_FAILURE() << "accepted";
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("mixed_float8"), std::string::npos) << error.what();
  }
  EXPECT_EQ(default_context().policy, "float32");
}

TEST(Precision, ProductsTakeTheComputeDtypeAndWeightsStayFloat32) {
  Graph graph;
  graph.set_compute_dtype(DType::bfloat16);
  Graph::Scope scope(graph, "layer");
  Variable w("w", normal({4, 3}, 1)), b("b", normal({3}, 2));
  Value x = graph.input("x", {DType::float32, {2, 4}});
  Value y = ops::matmul(x, w);
  EXPECT_EQ(y.dtype(), DType::bfloat16);
  Value biased = y + Value(b);
  EXPECT_EQ(biased.dtype(), DType::bfloat16) << "a weight follows the activations";
  EXPECT_EQ((biased + ops::sum(x)).dtype(), DType::float32) << "a float32 result does not";
  Values slopes = gradients(ops::mean(ops::cast(biased, DType::float32)), std::vector{w, b});
  for (const Value& slope : slopes) EXPECT_EQ(slope.dtype(), DType::float32);
}

TEST(Precision, ACastThatUndoesAnotherIsLeftOut) {
  Graph graph;
  graph.set_compute_dtype(DType::bfloat16);
  Graph::Scope scope(graph, "layer");
  Value x = graph.input("x", {DType::bfloat16, {2, 4}});
  Value wide = ops::cast(x, DType::float32);
  ops::matmul(wide, Variable("w", normal({4, 3}, 1)));
  auto casts = std::ranges::count_if(graph.nodes(),
                                     [](const Node& node) { return node.op->name == "cast"; });
  EXPECT_EQ(casts, 2) << graph.dump();  // the one above, and that of the weight
}

TEST(Precision, ALayerOfItsOwnPolicyComputesInIt) {
  Graph graph;
  graph.set_compute_dtype(DType::float16);
  Value x = graph.input("x", {DType::float32, {2, 4}});
  Value hidden = Dense(3)(x);
  EXPECT_EQ(hidden.dtype(), DType::float16);
  EXPECT_EQ(Dense(2, {.activation = "softmax", .dtype = "float32"})(hidden).dtype(),
            DType::float32);
  EXPECT_EQ(Dense(2, {.dtype = "mixed_bfloat16"})(x).dtype(), DType::bfloat16);
  EXPECT_EQ(Dense(2)(hidden).dtype(), DType::float16) << "the next layer is as before";
}

TEST(Precision, AFloat32LayerBehindASixteenBitOneTakesItsOutput) {
  Graph graph;
  Value x = graph.input("x", {DType::float32, {2, 4}});
  Value hidden = Dense(3, {.dtype = "mixed_float16"})(x);
  EXPECT_EQ(hidden.dtype(), DType::float16);
  EXPECT_EQ(Dense(2)(hidden).dtype(), DType::float32);
}

TEST(Precision, AnUnknownPolicyOfALayerIsRefusedByName) {
  std::string text = error_of<ValueError>([] { Dense(2, {.dtype = "half"}); });
  EXPECT_TRUE(says(text, {"\"half\"", "mixed_float16"}));
}

class MixedTraining : public DeviceTest {};
INSTANTIATE_ON_DEVICES(MixedTraining);

TEST_P(MixedTraining, LearnsAsFloat32Does) {
  std::vector<double> last;
  for (const char* policy : {"float32", "mixed_bfloat16", "mixed_float16"}) {
    Policy mixed(policy);
    set_seed(3);
    Sequential model({Dense(16, {.activation = "relu"}), Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = Adam({.learning_rate = 0.02}),
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"}});
    Data data = blobs(96, 5, 3, 11);
    History history = model.fit(data.x, data.y, {.epochs = 6, .batch_size = 16, .verbose = 0});
    last.push_back(history["loss"].back());
    for (const Variable& weight : model.weights()) EXPECT_EQ(weight.dtype(), DType::float32);
    EXPECT_EQ(model.predict(data.x).dtype(), DType::float32);
  }
  for (size_t mixed : {1, 2}) {
    EXPECT_LT(last[mixed], 0.5);
    EXPECT_NEAR(last[mixed], last[0], 0.05);
  }
}

}  // namespace

}  // namespace stoker::test
