// The messages field by field; test_tensorboard.cpp of train shows them to TensorBoard itself.
#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/file.h"
#include "formats/protobuf_wire.h"
#include "formats/tensorboard_events.h"

namespace stoker {
namespace {

// The fields of a message, by number; one of each.
std::vector<WireField> fields_of(std::span<const std::byte> message) {
  WireReader reader(message);
  std::vector<WireField> fields(16);
  for (WireField field; reader.next(field);) fields.at(field.number) = field;
  return fields;
}

std::vector<double> doubles_of(std::span<const std::byte> list) {
  WireReader reader(list);
  std::vector<double> numbers;
  while (!reader.at_end()) numbers.push_back(std::bit_cast<double>(reader.fixed64()));
  return numbers;
}

std::vector<WireField> value_of(const std::vector<WireField>& event) {
  return fields_of(fields_of(event[5].bytes)[1].bytes);
}

TEST(TensorBoardEvents, AScalarHasItsTimeStepTagAndValue) {
  std::string message = scalar_event({.wall_time = 12.5, .step = 7}, "epoch_loss", 0.25);
  auto event = fields_of(as_bytes(message));
  EXPECT_EQ(std::bit_cast<double>(event[1].value), 12.5);
  EXPECT_EQ(event[2].value, 7U);
  auto value = value_of(event);
  EXPECT_EQ(value[1].text(), "epoch_loss");
  EXPECT_EQ(std::bit_cast<float>(uint32_t(value[2].value)), 0.25F);
}

TEST(TensorBoardEvents, AFileBeginsWithItsVersion) {
  std::string message = event_file_version(1);
  EXPECT_EQ(fields_of(as_bytes(message))[3].text(), "brain.Event:2");
}

struct Buckets {
  double num, sum;
  std::vector<double> limits, counts;
};
Buckets histogram_of(const std::vector<float>& values) {
  std::string message = histogram_event({}, "w", values);
  auto histogram = fields_of(value_of(fields_of(as_bytes(message)))[5].bytes);
  return {std::bit_cast<double>(histogram[3].value), std::bit_cast<double>(histogram[4].value),
          doubles_of(histogram[6].bytes), doubles_of(histogram[7].bytes)};
}

TEST(TensorBoardEvents, AHistogramPutsEveryValueIntoItsBucket) {
  std::vector<float> values = {-3, -0.5F, 0, 0, 1e-20F, 2, 2.01F, 1e30F};
  Buckets got = histogram_of(values);
  EXPECT_EQ(got.num, 8);
  ASSERT_EQ(got.limits.size(), got.counts.size());
  for (size_t i = 1; i < got.limits.size(); ++i) EXPECT_LT(got.limits[i - 1], got.limits[i]);
  for (size_t i = 1; i < got.limits.size(); ++i) {
    double inside = 0;
    for (float value : values)
      if (double(value) > got.limits[i - 1] && double(value) <= got.limits[i]) ++inside;
    EXPECT_EQ(got.counts[i], inside) << "up to " << got.limits[i];
  }
  EXPECT_EQ(got.counts[0], 0);
}

TEST(TensorBoardEvents, AHistogramTakesAnyFloatAndLeavesOutWhatIsNotFinite) {
  constexpr float kMost = std::numeric_limits<float>::max();
  Buckets got = histogram_of({kMost, -kMost, std::numeric_limits<float>::denorm_min(), NAN,
                              std::numeric_limits<float>::infinity()});
  EXPECT_EQ(got.num, 3);
  EXPECT_EQ(histogram_of({}).num, 0);
  EXPECT_TRUE(histogram_of({}).limits.empty());
}

}  // namespace
}  // namespace stoker
