// Initial weights never change: the checksums below were recorded before draws were divided among
// threads and vector lanes.
#include <bit>
#include <cmath>
#include <map>

#include <stoker/context.h>
#include <stoker/initializers.h>
#include <stoker/random.h>

#include "formats/crc32c.h"
#include "nn/initializers/isa/kernels.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

uint32_t checksum(const Tensor& tensor, uint32_t before = 0) {
  return crc32c({static_cast<const std::byte*>(tensor.raw()), tensor.bytes()}, before);
}

std::vector<Initializer> all_initializers() {
  return {RandomNormal({.mean = 0.3, .stddev = 1.7, .seed = 11}),
          TruncatedNormal({.mean = -0.1, .stddev = 0.02, .seed = 12}),
          RandomUniform({.minval = -0.3, .maxval = 0.7, .seed = 13}),
          VarianceScaling({.distribution = "untruncated_normal", .seed = 14}),
          GlorotUniform({.seed = 15}),
          GlorotNormal({.seed = 16}),
          HeUniform({.seed = 17}),
          HeNormal({.seed = 18}),
          LecunUniform({.seed = 19}),
          LecunNormal({.seed = 20})};
}

// Odd sizes, and ones around what a thread and a vector take at once.
const std::vector<Shape> kShapes = {{1},      {2, 3},    {7, 9},           {3, 3, 5, 11},
                                    {31},     {33, 127}, {64, 64, 16},     {65537},
                                    {262144}, {262147},  {3, 3, 128, 257}, {1021, 1031}};

uint32_t checksum_of_all(const Initializer& initializer, DType dtype) {
  uint32_t sum = 0;
  for (const Shape& shape : kShapes) sum = checksum(initializer(shape, dtype), sum);
  return sum;
}

TEST(InitializerBits, AreThoseOfOtherVersions) {
  const std::map<std::string, std::vector<uint32_t>> recorded = {
      {"RandomNormal", {215306337U, 40513096U, 110346294U, 1975823903U}},
      {"TruncatedNormal", {1799530622U, 2619115830U, 2798610983U, 45430679U}},
      {"RandomUniform", {816892219U, 2793815760U, 2120880008U, 45430679U}},
      {"VarianceScaling", {34025336U, 538124032U, 2955311652U, 602645467U}},
      {"GlorotUniform", {3542553383U, 245435887U, 2508169487U, 45430679U}},
      {"GlorotNormal", {1588827476U, 4159093249U, 1943514586U, 3951554553U}},
      {"HeUniform", {3703519745U, 2926241953U, 875274075U, 3338641262U}},
      {"HeNormal", {3898747112U, 118220166U, 4045398753U, 1949778372U}},
      {"LecunUniform", {629311385U, 3909148699U, 1386119321U, 2020977381U}},
      {"LecunNormal", {2553611136U, 3119805989U, 934525415U, 1217392062U}},
  };
  for (const Initializer& initializer : all_initializers()) {
    SCOPED_TRACE(initializer.kind());
    std::vector<uint32_t> sums;
    for (DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::int64})
      sums.push_back(checksum_of_all(initializer, dtype));
    EXPECT_EQ(sums, recorded.at(initializer.kind()));
  }
}

TEST(InitializerBits, OfOrthogonalAreThoseOfOtherVersions) {
  uint32_t sum = 0;
  for (const Shape& shape :
       {Shape{1, 1}, Shape{20, 8}, Shape{8, 21}, Shape{3, 3, 4, 17}, Shape{67, 129}})
    sum = checksum(Orthogonal(1.5, {.seed = 21})(shape), sum);
  EXPECT_EQ(sum, 2616421035U);
}

TEST(InitializerBits, OfAModelsStreamsAreThoseOfOtherVersions) {
  set_seed(99);
  uint32_t sum = 0;
  for (const char* name : {"glorot_uniform", "he_normal", "normal", "orthogonal", "uniform"})
    sum = checksum(Initializer(name)({130, 70}), sum);
  EXPECT_EQ(sum, 3555168912U);
}

TEST(InitializerBits, OfNormalNumbersAreThoseOfTheMathLibrary) {
  Rng rng(5, 6);
  Tensor drawn(DType::float32, {1 << 20});
  draw::kernels().normals(5, 6, 0, drawn.elements(), drawn.data_mut<float>());
  for (float value : drawn.values<float>())
    ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(rng.normal()));
}

TEST(InitializerBits, AreTheSameAtAnyThreadCount) {
  for (const Initializer& initializer : all_initializers()) {
    SCOPED_TRACE(initializer.kind());
    Tensor expected = initializer({1021, 1031});
    for (int threads : {1, 3, 8}) {
      set_threads({.compute = threads});
      EXPECT_EQ(initializer({1021, 1031}), expected) << threads << " threads";
    }
    set_threads({});
  }
}

}  // namespace
}  // namespace stoker::test
