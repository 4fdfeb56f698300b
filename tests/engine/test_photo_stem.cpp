// The first layer of a network for photographs: numbers that are not finite stay where they are
// seen, however a backend fills up its products. On every backend, in every dtype that it has.
#include "engine/device_test.h"

#include <cmath>
#include <limits>

#include <stoker/ops.h>

#include "engine/run_graph.h"

namespace stoker::test {

namespace {

class PhotoStemTest : public DeviceTest {
 protected:
  static constexpr int64_t kHeight = 24, kWidth = 40, kFilters = 8;
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  std::vector<DType> dtypes() {
    std::vector<DType> found;
    for (DType dtype : {DType::float32, DType::float16, DType::bfloat16})
      if (device().supports("conv2d", dtype)) found.push_back(dtype);
    return found;
  }

  // A photograph of ones with one infinite pixel, and a kernel of ones.
  struct Stem {
    Graph graph;
    Value kernel, y;
    std::vector<Tensor> inputs;

    Stem(DType dtype, int64_t size, int64_t pad, int64_t row, int64_t column) {
      std::vector<float> numbers(size_t(kHeight * kWidth * 3), 1.0F);
      numbers[size_t((row * kWidth + column) * 3 + 1)] = kInfinity;
      inputs = {Tensor::from(numbers, {1, kHeight, kWidth, 3}),
                Tensor::full({size, size, 3, kFilters}, 1)};
      Value x = ops::cast(graph.input("x", inputs[0].spec()), dtype);
      kernel = graph.input("kernel", inputs[1].spec());
      y = ops::conv2d(x, ops::cast(kernel, dtype),
                      {.strides = {2, 2}, .padding = {pad, pad, pad, pad}});
    }
  };
};
INSTANTIATE_TEST_SUITE_P(On, PhotoStemTest, ::testing::ValuesIn(device_names()), device_name);

TEST_P(PhotoStemTest, ShowsAnInfinitePixelInTheWindowsThatSeeItAlone) {
  for (DType dtype : dtypes())
    for (int64_t size = 2; size <= 7; ++size) {
      const int64_t pad = size / 2, row = 9, column = 15;
      Stem stem(dtype, size, pad, row, column);
      stem.graph.output(ops::cast(stem.y, DType::float32), "y");
      Tensor y = run_graph(stem.graph, stem.inputs, device())[0];
      auto sees = [&](int64_t at, int64_t pixel) {
        int64_t tap = pixel + pad - 2 * at;
        return tap >= 0 && tap < size;
      };
      const int64_t lines = y.shape()[1], columns = y.shape()[2];
      for (int64_t i = 0; i < y.elements(); ++i) {
        int64_t pixel = i / kFilters;
        bool seen = sees(pixel / columns % lines, row) && sees(pixel % columns, column);
        ASSERT_EQ(std::isfinite(y.at(i)), !seen)
            << name(dtype) << ", " << size << "x" << size << ", pixel " << pixel / columns << ", "
            << pixel % columns;
      }
    }
}

TEST_P(PhotoStemTest, LeavesOutOfTheWeightGradientWhatNoWindowSees) {
  for (DType dtype : dtypes())
    for (int64_t size = 3; size <= 7; size += 2) {  // the last column is a rest
      Stem stem(dtype, size, 0, 9, kWidth - 1);
      stem.graph.output(gradients(ops::sum(stem.y), Values{stem.kernel})[0], "dw");
      Tensor dw = run_graph(stem.graph, stem.inputs, device())[0];
      for (int64_t i = 0; i < dw.elements(); ++i)
        ASSERT_EQ(dw.at(i), double(stem.y.shape()[1] * stem.y.shape()[2]))
            << name(dtype) << ", " << size << "x" << size;
    }
}

}  // namespace

}  // namespace stoker::test
