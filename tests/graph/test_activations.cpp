#include <stoker/ops.h>

#include "graph/tracing.h"
#include "graph/unary.h"

namespace stoker {

using namespace test;
using testing::HasSubstr;

class KerasActivation : public testing::TestWithParam<const char*> {};

TEST_P(KerasActivation, KeepsTheShape) {
  Graph graph;
  Value x = f32(graph, {4, 10});
  EXPECT_EQ(ops::activation(x, GetParam()).spec(), x.spec());
}

INSTANTIATE_TEST_SUITE_P(Names, KerasActivation,
                         testing::Values("celu", "elu", "exponential", "gelu", "hard_shrink",
                                         "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
                                         "leaky_relu", "linear", "log_sigmoid", "log_softmax",
                                         "mish", "relu", "relu6", "selu", "sigmoid", "silu",
                                         "soft_shrink", "softmax", "softplus", "softsign",
                                         "squareplus", "swish", "tanh", "tanh_shrink", "threshold"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Activations, HaveKerasDefaults) {
  Graph graph;
  Value x = f32(graph, {4, 10});
  auto alpha = [&](const char* name) {
    return graph.producer(ops::activation(x, name).traced()->id)->attrs.get<double>("alpha");
  };
  EXPECT_EQ(alpha("leaky_relu"), 0.2);
  EXPECT_EQ(alpha("elu"), 1);
  EXPECT_EQ(alpha("squareplus"), 4);
  EXPECT_EQ(alpha("hard_shrink"), 0.5);
}

TEST(Activations, LinearIsNoOp) {
  Graph graph;
  Value x = f32(graph, {4, 10});
  EXPECT_TRUE(same(ops::activation(x, "linear"), x));
  EXPECT_TRUE(same(ops::activation(x, ""), x));
  EXPECT_TRUE(graph.nodes().empty());
}

TEST(Activations, ListTheNamesWhenOneIsWrong) {
  Graph graph;
  std::string error = error_of<ValueError>([&] { ops::activation(f32(graph, {4}), "rellu"); });
  EXPECT_THAT(error, HasSubstr("unknown activation \"rellu\"; there are celu, elu"));
  EXPECT_THAT(error, HasSubstr("threshold"));
}

TEST(Activations, RefuseNegativeSlopesTheirGradientCouldNotTellApart) {
  Graph graph;
  Value x = f32(graph, {4});
  EXPECT_THAT(error_of<ValueError>([&] { ops::leaky_relu(x, -0.1); }), HasSubstr("negative_slope"));
  EXPECT_THAT(error_of<ValueError>([&] { ops::elu(x, -1); }), HasSubstr("alpha"));
}

TEST(UnaryTable, FindsEveryFunctionByNameAndByValue) {
  for (const UnaryInfo& info : unary_functions()) {
    EXPECT_EQ(unary_info(info.name).fn, info.fn);
    EXPECT_EQ(unary_info(info.fn).name, info.name);
    EXPECT_GT(info.flops, 0);
  }
  EXPECT_THAT(error_of<ValueError>([] { unary_info("tan"); }), HasSubstr("abs, neg"));
}

}  // namespace stoker
