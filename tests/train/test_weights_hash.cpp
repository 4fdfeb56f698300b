#include <gtest/gtest.h>
#include <stoker/stoker.h>

#include "train/helpers.h"
#include "train/model/weights_hash.h"

namespace stoker {
namespace {

Sequential small() {
  return Sequential({Input({3}), Dense(4, {.activation = "relu"}), BatchNormalization(), Dense(1)});
}

TEST(WeightsHash, IsEqualForEqualWeightsAndForNoOthers) {
  test::OnDevice device;
  Sequential first = small(), second = small();
  EXPECT_NE(weights_sha256(first), weights_sha256(second));
  second.set_weights(first.get_weights());
  std::string before = weights_sha256(first);
  EXPECT_EQ(before.size(), 64U);
  EXPECT_EQ(weights_sha256(second), before);
  for (size_t index = 0; index < first.get_weights().size(); ++index) {
    std::vector<Tensor> weights = first.get_weights();
    Tensor changed = weights[index].clone();
    changed.data_mut<float>()[changed.elements() - 1] += 1;
    weights[index] = changed;
    second.set_weights(weights);
    EXPECT_NE(weights_sha256(second), before) << index;
  }
}

TEST(WeightsHash, NeedsAModelThatHasWeights) {
  test::OnDevice device;
  Sequential model({Dense(1)});
  EXPECT_TRUE(
      test::says(test::error_of<Error>([&] { weights_sha256(model); }), {"weights_sha256"}));
}

}  // namespace
}  // namespace stoker
