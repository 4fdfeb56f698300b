// Mixed precision: what is computed in sixteen bits and what is not, and that it learns all the
// same.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/graph.h"
#include "support/cpu_bfloat16.h"
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

// --- bfloat16 on a CPU ---

struct SmallClassifier {
  Context context{.seed = 5, .device = "cpu", .policy = "mixed_bfloat16", .out = nullptr};
  Sequential model = drawn();

  static Sequential drawn() {
    set_seed(5);
    return Sequential({Input({12, 12, 8}), Conv2D(16, 3, {.activation = "relu"}),
                       GlobalAveragePooling2D(), Dense(3, {.activation = "softmax"})});
  }
  SmallClassifier() {
    model.compile({.optimizer = Adam({.learning_rate = 0.01}),
                   .loss = "sparse_categorical_crossentropy",
                   .context = &context});
  }
  Tensor x = normal({32, 12, 12, 8}, 1), y = Tensor(DType::int32, {32});
  std::vector<double> losses() {
    for (int64_t i = 0; i < 32; ++i) y.data_mut<int32_t>()[i] = int32_t(i % 3);
    return model.fit(x, y, {.epochs = 4, .batch_size = 8, .verbose = 0})["loss"];
  }
};

TEST(CpuBfloat16Training, IsSaidInTheSummaryAndKeptInTheRunPlan) {
  STOKER_WITH_CPU_BFLOAT16();
  SmallClassifier mixed;
  EXPECT_TRUE(says(mixed.model.summary(),
                   {"mixed_bfloat16: products in bfloat16, sums and weights in float32"}));
  EXPECT_EQ(mixed.model.run_plan().precision, "mixed_bfloat16");
  CpuBfloat16 off("off");
  SmallClassifier wide;
  EXPECT_TRUE(says(wide.model.summary(),
                   {"mixed_bfloat16: this CPU has no products in bfloat16; products in float32"}));
  EXPECT_EQ(wide.model.run_plan().precision, "float32");
}

TEST(CpuBfloat16Training, FollowsFloat32AndKeepsWeightsInIt) {
  STOKER_WITH_CPU_BFLOAT16();
  SmallClassifier mixed, again;
  std::vector<double> got = mixed.losses();
  EXPECT_EQ(got, again.losses()) << "the same bits every time";
  for (const Variable& weight : mixed.model.weights()) EXPECT_EQ(weight.dtype(), DType::float32);
  CpuBfloat16 off("off");
  SmallClassifier wide;
  std::vector<double> expected = wide.losses();
  EXPECT_NE(got, expected) << "nothing was rounded";
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 0.02) << i;
}

}  // namespace

}  // namespace stoker::test
