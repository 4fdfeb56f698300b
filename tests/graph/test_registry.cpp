// The table of ops against the page that describes them.
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "graph/tracing.h"

namespace stoker {

using namespace test;
using testing::HasSubstr;

// The names in the first column of the tables of docs/reference/ops.md.
std::set<std::string> documented_ops() {
  std::ifstream page(std::string(STOKER_TEST_SOURCE_DIR) + "/../docs/reference/ops.md");
  std::set<std::string> names;
  std::string line;
  const std::regex name("`([a-z0-9_]+)`");
  while (std::getline(page, line)) {
    if (line.rfind("| `", 0) != 0) continue;
    std::string cell = line.substr(1, line.find('|', 1) - 1);
    for (std::sregex_iterator found(cell.begin(), cell.end(), name), end; found != end; ++found)
      names.insert((*found)[1]);
  }
  return names;
}

TEST(OpRegistry, HoldsExactlyTheOpsOfTheReferencePage) {
  std::set<std::string> registered;
  for (const auto& op : OpRegistry::get().all()) registered.insert(op->name);
  EXPECT_EQ(registered, documented_ops());
}

TEST(OpRegistry, GivesEveryOpAShapeRuleAndACost) {
  for (const auto& op : OpRegistry::get().all()) {
    EXPECT_TRUE(op->infer) << op->name;
    EXPECT_TRUE(op->cost) << op->name;
  }
}

// Each with the reason why it has none.
TEST(OpRegistry, LeavesOnlyTheseOpsWithoutAGradient) {
  const std::map<std::string, std::string> reasons = {
      {"compare", "its result is bool"},
      {"argmax", "its result is an integer"},
      {"bitcast", "bits are no smooth function of a number"},
      {"argsort", "its result is an integer"},
      {"one_hot", "its operand is an integer"},
      {"in_top_k", "its result is bool"},
      {"moving_average", "an update: gradients end at reads of what it assigns"},
      {"sgd_update", "an update"},
      {"adam_update", "an update"},
      {"rmsprop_update", "an update"},
      {"clip_scales", "part of an update"},
      {"loss_scale_update", "an update"},
      {"cached_attention", "a step of generation, which does not train"},
      {"cache_append", "likewise"},
      {"quantize", "its result is an integer; QuantizationAware layers train"},
      {"dequantize", "its operand is an integer"},
      {"quantized_matmul", "its operands are integers"},
      {"quantized_conv2d", "likewise"},
      {"quantized_add", "likewise"},
      {"quantized_multiply", "likewise"},
      {"quantized_max_pool2d", "likewise"},
      {"quantized_avg_pool2d", "likewise"},
      {"quantized_lookup", "likewise"},
  };
  for (const auto& op : OpRegistry::get().all())
    EXPECT_EQ(!op->gradient, reasons.contains(op->name)) << op->name;
}

TEST(OpRegistry, NamesAnOpThatDoesNotExist) {
  EXPECT_THAT(error_of<Error>([] { OpRegistry::get().find("conv9d"); }),
              HasSubstr("there is no op \"conv9d\""));
}

TEST(Updates, OverwriteTheParametersAndMomentsTheyRead) {
  const OpDef& adam = OpRegistry::get().find("adam_update");
  Attrs attrs = {{"amsgrad", false}, {"scaled", true}};
  using Pairs = std::vector<std::pair<int, int>>;
  // lr, iterations, scales, then p, g, m, v twice.
  EXPECT_EQ(adam.in_place(attrs, 11), (Pairs{{0, 3}, {1, 5}, {2, 6}, {3, 7}, {4, 9}, {5, 10}}));
}

TEST(Updates, CheckThatGradientsAndMomentsFitTheirParameter) {
  Graph graph;
  Value lr = f32(graph, {}), p = f32(graph, {3, 4}), g = f32(graph, {3, 4}),
        other = f32(graph, {4, 3});
  Attrs plain = {{"momentum", 0.0}}, heavy = {{"momentum", 0.9}};
  EXPECT_EQ(apply("sgd_update", {lr, p, g, p, g}, plain).size(), 2U);
  EXPECT_EQ(apply("sgd_update", {lr, p, g, p}, heavy).size(), 2U);
  EXPECT_THAT(error_of([&] {
                apply("sgd_update", {lr, p, other}, plain);
              }),
              HasSubstr("a gradient of shape [3, 4]"));
  EXPECT_THAT(error_of([&] {
                apply("sgd_update", {lr, p, g, other}, heavy);
              }),
              HasSubstr("a moment float32[3, 4]"));
  EXPECT_THAT(error_of([&] {
                apply("sgd_update", {lr, p, g, p}, plain);
              }),
              HasSubstr("2 a parameter, got 4"));
}

TEST(EightBits, HaveScalesAndCodesThatCanBe) {
  Graph graph;
  Value x = f32(graph, {2, 3});
  auto error = [&](double scale, int64_t zero_point) {
    return error_of<ValueError>([&] {
      apply("quantize", {x}, {{"scale", scale}, {"zero_point", zero_point}});
    });
  };
  for (double scale : {0.0, -1.0, double(NAN), double(INFINITY), 1e-300})
    EXPECT_THAT(error(scale, 0), HasSubstr("a scale that is a positive float32"));
  EXPECT_THAT(error(1, 256), HasSubstr("a zero_point of 0 to 255, got 256"));
}

}  // namespace stoker
