// stoker::ops against keras.ops, values and gradients: keras_ops.py has the same cases.

#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "parity/comparison.h"
#include "parity/op_cases.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

constexpr uint64_t kWeightStream = 100;

// With a dominant diagonal.
Tensor dominant(const Tensor& matrices) {
  std::vector<float> values = matrices.to_vector<float>();
  int64_t n = matrices.shape()[-1];
  for (size_t i = 0; i < values.size(); ++i)
    if (int64_t(i) / n % n == int64_t(i) % n) values[i] += 4;
  return Tensor::from(values, matrices.shape());
}

std::map<std::string, Tensor> named_inputs(uint64_t seed) {
  auto whole = [&](uint64_t stream, const Shape& shape, int64_t below, int64_t from) {
    std::vector<int64_t> values = drawn_integers(seed, stream, shape, below).to_vector<int64_t>();
    for (int64_t& value : values) value += from;
    return Tensor::from(values, shape);
  };
  return {{"x", drawn(seed, 0, {4, 6}, {.limit = 2})},
          {"y", drawn(seed, 1, {4, 6}, {.limit = 2})},
          {"u", drawn(seed, 2, {4, 6}, {.limit = 0.9F})},
          {"p", drawn(seed, 3, {4, 6}, {.limit = 1, .centre = 1.5})},
          {"v", drawn(seed, 4, {6}, {.limit = 2})},
          {"w", drawn(seed, 5, {6}, {.limit = 2})},
          {"a", dominant(drawn(seed, 6, {2, 4, 4}))},
          {"b", drawn(seed, 7, {2, 4, 3})},
          {"t", drawn(seed, 8, {2, 3, 4})},
          {"image", drawn(seed, 9, {2, 6, 8, 3}, {.limit = 0.5, .centre = 0.5})},
          {"signal", drawn(seed, 10, {2, 40})},
          {"rows", drawn(seed, 11, {3, 5})},
          {"ids", whole(20, {4}, 3, 0)},
          {"places", whole(21, {4, 2}, 6, 0)},
          {"whole", whole(22, {4, 6}, 50, -25)},
          {"other", whole(23, {4, 6}, 9, 1)}};
}

class Ops : public DeviceTest {
 protected:
  // The values of a case, and the gradients by its float inputs that are recorded.
  void expect_as_keras(const std::string& name, const OpCase& each) {
    SCOPED_TRACE(name);
    std::vector<std::string> names;
    std::vector<Tensor> inputs;
    std::istringstream words(each.inputs);
    for (std::string word; words >> word;) {
      names.push_back(word);
      inputs.push_back(inputs_.at(word));
    }
    std::vector<std::string> recorded;
    std::vector<Tensor> outputs = run_once(device(), inputs, [&](const Values& traced) {
      recorded.clear();
      Values results = each.run(traced), all;
      Value loss;
      for (size_t i = 0; i < results.size(); ++i) {
        recorded.push_back(name + "/value/" + std::to_string(i));
        all.push_back(ops::cast(results[i], DType::float32));
        if (!is_floating(results[i].dtype())) continue;
        Value weights = drawn(recording_.seed(), kWeightStream + i, results[i].shape());
        Value term = ops::sum(results[i] * weights);
        loss = loss.defined() ? loss + term : term;
      }
      for (size_t i = 0; i < names.size(); ++i) {
        std::string gradient = name + "/gradient/" + names[i];
        if (!recording_.has(gradient)) continue;
        recorded.push_back(gradient);
        all.push_back(gradients(loss, {traced[i]}, {.unconnected = Unconnected::zeros})[0]);
      }
      return all;
    });
    ASSERT_EQ(outputs.size(), recorded.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      EXPECT_TRUE(agrees(outputs[i], recording_.expected(recorded[i])));
    ++cases_;
  }

  void expect_all(const OpCases& table, size_t count) {
    for (const auto& [name, each] : table) expect_as_keras(name, each);
    EXPECT_EQ(cases_, count);
  }

  // The tables have the cases of the file, no more and no fewer.
  void expect_held(const std::vector<OpCases>& tables) {
    std::set<std::string> tested, held;
    for (const OpCases& table : tables)
      for (const auto& [name, each] : table) tested.insert(name);
    for (const std::string& name : recording_.names(""))
      if (name.find("/value/") != std::string::npos && !name.starts_with("noise/"))
        held.insert(name.substr(0, name.find('/')));
    EXPECT_EQ(tested, held);
  }

  explicit Ops(const char* file = "ops") : recording_(file) {}

  Recording recording_;
  std::map<std::string, Tensor> inputs_ = named_inputs(recording_.seed());
  size_t cases_ = 0;
};

TEST_P(Ops, OfElementsAreKeras) { expect_all(elementwise_cases(), 51); }
TEST_P(Ops, OfArraysAreKeras) { expect_all(array_cases(), 46); }
TEST_P(Ops, OfStatisticsAreKeras) { expect_all(statistics_cases(), 30); }
TEST_P(Ops, OfLinearAlgebraAreKeras) { expect_all(linear_cases(), 20); }
TEST_P(Ops, OfNetworksAreKeras) { expect_all(nn_cases(), 21); }
TEST_P(Ops, OfSignalsAndImagesAreKeras) { expect_all(signal_cases(), 25); }

TEST_P(Ops, AreAllThatTheFileHolds) {
  expect_held({elementwise_cases(), array_cases(), statistics_cases(), linear_cases(), nn_cases(),
               signal_cases()});
}

// keras_more_ops.py: the rest of keras.ops.
class MoreOps : public Ops {
 protected:
  MoreOps() : Ops("more_ops") {}
};

TEST_P(MoreOps, AreKeras) { expect_all(more_cases(), 191); }
TEST_P(MoreOps, AreAllThatTheFileHolds) { expect_held({more_cases()}); }

// keras_rest.py: bits, complex values, gradients by hand, bounding boxes.
class RestOfOps : public Ops {
 protected:
  RestOfOps() : Ops("rest") {}
};

TEST_P(RestOfOps, AreKeras) { expect_all(rest_cases(), 23); }
TEST_P(RestOfOps, AreAllThatTheFileHolds) { expect_held({rest_cases()}); }

INSTANTIATE_TEST_SUITE_P(Parity, Ops, kDevices, device_name);
INSTANTIATE_TEST_SUITE_P(Parity, MoreOps, kDevices, device_name);
INSTANTIATE_TEST_SUITE_P(Parity, RestOfOps, kDevices, device_name);

}  // namespace
}  // namespace stoker
