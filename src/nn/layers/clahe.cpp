// ContrastLimitedAdaptiveHistogramEqualization, written with ops: counts per tile, running sums, and a
// look-up in the tables of the four nearest tiles.
#include <cmath>

#include <fmt/format.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_math.h>
#include <stoker/ops_statistics.h>

#include "nn/layers/augment_layer.h"

namespace stoker {

namespace {

constexpr int64_t kLevels = 256;

struct ClaheConfig : ContrastLimitedAdaptiveHistogramEqualizationOptions {
  static constexpr const char* kKind = "ContrastLimitedAdaptiveHistogramEqualization";
  static Fields<ClaheConfig> fields() {
    using C = ClaheConfig;
    return {{"value_range", &C::value_range},
            {"clip_limit", &C::clip_limit, at_least(0)},
            {"tile_grid_size", &C::tile_grid_size, at_least(1)}};
  }
};

// Between which two tiles of `count` (one more at either end) the pixels of an axis lie.
struct Between {
  std::vector<int32_t> low, high;
  std::vector<float> part;
  Between(int64_t extent, int64_t tile, int64_t count) {
    for (int64_t i = 0; i < extent; ++i) {
      double at = (double(i) - double(tile) / 2) / double(tile) + 1, below = std::floor(at);
      low.push_back(int32_t(std::clamp<double>(below, 0, double(count + 1))));
      high.push_back(int32_t(std::clamp<double>(below + 1, 0, double(count + 1))));
      part.push_back(float(at - below));
    }
  }
};

class ClaheLayer : public Configured<SingleInputLayer, ClaheConfig> {
 public:
  explicit ClaheLayer(ClaheConfig config) : Configured(std::move(config)) {
    const Factor& range = options().value_range;
    if (!range.high || !(range.low < *range.high))
      fail_option("value_range: expected its lowest and its highest number");
  }

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_image(x.shape());
    double low = options().value_range.low, width = *options().value_range.high - low;
    bool bytes = low == 0 && width == 255;
    Value levels = bytes ? as_float32(x) : (as_float32(x) - low) / width * 255.0;
    Value y = equalized(ops::stop_gradient(levels));
    return bytes ? y : y / 255.0 * width + low;
  }

 private:
  // Whole tiles; what is missing of the last ones is mirrored.
  static Value padded(const Value& x, int axis, int64_t extent) {
    int64_t have = x.shape()[axis];
    if (have == extent) return x;
    std::vector<int32_t> places;
    for (int64_t i = 0; i < extent; ++i) {
      int64_t turn = i % (2 * have);
      places.push_back(int32_t(turn < have ? turn : 2 * have - 1 - turn));
    }
    return ops::take(x, Tensor::from(places, {extent}), axis);
  }

  Value equalized(const Value& x) const {
    const Shape& shape = x.shape();
    int64_t rows = options().tile_grid_size.height, columns = options().tile_grid_size.width;
    int64_t tile_height = (shape[1] + rows - 1) / rows,
            tile_width = (shape[2] + columns - 1) / columns;
    Value whole = padded(padded(x, 1, tile_height * rows), 2, tile_width * columns);
    Value level = ops::cast(ops::clip(whole, 0, kLevels - 1), DType::int32);
    Value tables = tables_of(level, {shape[0], rows, tile_height, columns, tile_width, shape[3]});
    Value y = looked_up(tables, level, Between(whole.shape()[1], tile_height, rows),
                        Between(whole.shape()[2], tile_width, columns));
    return ops::slice(y, {0, 0, 0, 0}, {shape[0], shape[1], shape[2], shape[3]});
  }

  // level: [B, H, W, C] → what each level becomes, [B, rows + 2, columns + 2, C, 256]
  Value tables_of(const Value& level, const Shape& tiles) const {
    auto pixels = double(tiles[2] * tiles[4]);
    Value apart = ops::transpose(ops::reshape(level, tiles), {0, 1, 3, 5, 2, 4});
    Value counts = ops::cast(ops::bincount(ops::reshape(apart, {tiles[0], tiles[1], tiles[3],
                                                                tiles[5], tiles[2] * tiles[4]}),
                                           kLevels),
                             DType::float32);
    if (options().clip_limit > 0) {
      Value cut = ops::minimum(counts, options().clip_limit * pixels / double(kLevels));
      Value excess = ops::sum(counts - cut, {.axes = {-1}, .keepdims = true});
      counts = cut + excess / double(kLevels);
    }
    Value sums = ops::cumsum(counts, -1);
    Value least = ops::min(sums, {.axes = {-1}, .keepdims = true});
    Value rest = pixels - least;
    Value table =
        ops::clip((sums - least) * 255.0 / ops::where(ops::equal(rest, 0.0), 1.0, rest), 0, 255);
    return with_edges(with_edges(table, 1), 2);
  }

  // The first and the last slice of an axis twice.
  static Value with_edges(const Value& x, int axis) {
    std::vector<int32_t> places = {0};
    for (int64_t i = 0; i < x.shape()[axis]; ++i) places.push_back(int32_t(i));
    places.push_back(places.back());
    return ops::take(x, Tensor::from(places, {int64_t(places.size())}), axis);
  }

  static Value looked_up(const Value& tables, const Value& level, const Between& down,
                         const Between& right) {
    const Shape& t = tables.shape();
    int64_t batch = t[0], channels = t[3];
    auto column = [](std::vector<int32_t> numbers, int64_t step, const Shape& shape) {
      for (int32_t& number : numbers) number *= int32_t(step);
      return Value(Tensor::from(numbers, shape));
    };
    auto height = int64_t(down.low.size()), width = int64_t(right.low.size());
    std::vector<int32_t> channel;
    for (int64_t i = 0; i < channels; ++i) channel.push_back(int32_t(i));
    Value base = level + column(channel, kLevels, {channels});
    Value flat = ops::reshape(tables, {batch, t.elements() / batch});
    auto at = [&](const std::vector<int32_t>& row, const std::vector<int32_t>& side) {
      Value index = base + column(row, kLevels * channels * t[2], {height, 1, 1}) +
                    column(side, kLevels * channels, {width, 1});
      Value places = ops::reshape(index, {batch, height * width * channels});
      return ops::reshape(ops::take_along_axis(flat, places, 1), {batch, height, width, channels});
    };
    Value wy = Tensor::from(down.part, {height, 1, 1}), wx = Tensor::from(right.part, {width, 1});
    Value top = at(down.low, right.low) * (1.0 - wx) + at(down.low, right.high) * wx;
    Value bottom = at(down.high, right.low) * (1.0 - wx) + at(down.high, right.high) * wx;
    return top * (1.0 - wy) + bottom * wy;
  }
};

}  // namespace

ContrastLimitedAdaptiveHistogramEqualization::ContrastLimitedAdaptiveHistogramEqualization(
    const ContrastLimitedAdaptiveHistogramEqualizationOptions& options)
    : Layer(configured<ClaheLayer>({options})) {}

void add_adaptive_equalization(LayerKinds& kinds) { add_layer<ClaheLayer>(kinds); }

}  // namespace stoker
