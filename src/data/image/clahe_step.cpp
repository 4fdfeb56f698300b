// Contrast limited adaptive histogram equalisation of one picture, as the layer of that name.
#include <algorithm>

#include "base/convert.h"
#include "data/image/float_step.h"

namespace stoker::image {
namespace {

class ClaheStep : public FloatStep {
 public:
  explicit ClaheStep(const ContrastLimitedAdaptiveHistogramEqualization& options)
      : options_(options) {
    check_range(kName, options.range);
    if (options.tile_rows < 1 || options.tile_columns < 1 || !(options.clip_limit >= 0))
      throw ValueError(
          fmt::format("{}: tiles are {} x {} and clip_limit {}, expected 1 or more and 0 or more",
                      kName, options.tile_rows, options.tile_columns, options.clip_limit));
  }
  std::string name() const override { return kName; }
  std::string options() const override {
    return fmt::format("{} {} {} {} {}", options_.clip_limit, options_.tile_rows,
                       options_.tile_columns, options_.range.low, options_.range.high);
  }

 protected:
  void change(const augment::Picture<float>& from, float* to, uint64_t) const override {
    Grid grid = {.rows = options_.tile_rows,
                 .columns = options_.tile_columns,
                 .tile_height = (from.height + options_.tile_rows - 1) / options_.tile_rows,
                 .tile_width = (from.width + options_.tile_columns - 1) / options_.tile_columns};
    std::vector<uint8_t> levels(elements(from));
    for (size_t i = 0; i < levels.size(); ++i) levels[i] = level(from.data[i]);
    double width = options_.range.high - options_.range.low;
    for (int32_t channel = 0; channel < from.channels; ++channel) {
      std::vector<float> tables = tables_of(levels, from, channel, grid);
      for (int32_t y = 0; y < from.height; ++y)
        for (int32_t x = 0; x < from.width; ++x) {
          size_t at = (size_t(y) * size_t(from.width) + size_t(x)) * size_t(from.channels) +
                      size_t(channel);
          float value = looked_up(tables, grid, y, x, levels[at]);
          to[at] = float(double(value) / 255 * width + options_.range.low);
        }
    }
  }

 private:
  static constexpr const char* kName = "contrast_limited_adaptive_histogram_equalization";
  static constexpr int64_t kLevels = 256;
  struct Grid {
    int64_t rows, columns, tile_height, tile_width;
  };
  // Between which two tiles a pixel of an axis lies, and how far from the first.
  struct Between {
    int64_t low, high;
    float part;
    Between(int64_t at, int64_t tile, int64_t count) {
      double place = (double(at) - double(tile) / 2) / double(tile), below = std::floor(place);
      low = std::clamp<int64_t>(int64_t(below), 0, count - 1);
      high = std::clamp<int64_t>(int64_t(below) + 1, 0, count - 1);
      part = float(place - below);
    }
  };

  uint8_t level(float value) const {
    double width = options_.range.high - options_.range.low;
    bool bytes = options_.range.low == 0 && width == 255;
    float scaled = bytes ? value : (value - float(options_.range.low)) / float(width) * 255.0F;
    return stoker::convert<uint8_t>(scaled);
  }

  // What each level becomes, [rows, columns, 256]. What is missing of the last tiles is mirrored.
  std::vector<float> tables_of(const std::vector<uint8_t>& levels,
                               const augment::Picture<float>& like, int32_t channel,
                               const Grid& grid) const {
    std::vector<float> tables(size_t(grid.rows * grid.columns * kLevels));
    auto mirrored = [](int64_t at, int64_t extent) {
      int64_t turn = at % (2 * extent);
      return turn < extent ? turn : 2 * extent - 1 - turn;
    };
    for (int64_t y = 0; y < grid.rows * grid.tile_height; ++y)
      for (int64_t x = 0; x < grid.columns * grid.tile_width; ++x) {
        int64_t pixel = mirrored(y, like.height) * like.width + mirrored(x, like.width);
        uint8_t value = levels[size_t(pixel * like.channels + channel)];
        int64_t tile = y / grid.tile_height * grid.columns + x / grid.tile_width;
        ++tables[size_t(tile * kLevels + value)];
      }
    for (size_t tile = 0; tile < size_t(grid.rows * grid.columns); ++tile)
      equalize(&tables[tile * size_t(kLevels)], double(grid.tile_height * grid.tile_width));
    return tables;
  }

  // From counts to the values that levels become.
  void equalize(float* table, double pixels) const {
    if (options_.clip_limit > 0) {
      auto most = float(options_.clip_limit * pixels / double(kLevels));
      float excess = 0;
      for (int64_t i = 0; i < kLevels; ++i) {
        excess += std::max(table[i] - most, 0.0F);
        table[i] = std::min(table[i], most);
      }
      for (int64_t i = 0; i < kLevels; ++i) table[i] += excess / float(kLevels);
    }
    for (int64_t i = 1; i < kLevels; ++i) table[i] += table[i - 1];
    float least = table[0], rest = float(pixels) - least;
    for (int64_t i = 0; i < kLevels; ++i)
      table[i] =
          augment::clipped((table[i] - least) * 255.0F / (rest == 0 ? 1.0F : rest), 0.0F, 255.0F);
  }

  static float looked_up(const std::vector<float>& tables, const Grid& grid, int64_t y, int64_t x,
                         uint8_t level) {
    Between down(y, grid.tile_height, grid.rows), right(x, grid.tile_width, grid.columns);
    auto at = [&](int64_t row, int64_t column) {
      return tables[size_t((row * grid.columns + column) * kLevels + level)];
    };
    float top = at(down.low, right.low) * (1 - right.part) + at(down.low, right.high) * right.part;
    float bottom =
        at(down.high, right.low) * (1 - right.part) + at(down.high, right.high) * right.part;
    return top * (1 - down.part) + bottom * down.part;
  }

  ContrastLimitedAdaptiveHistogramEqualization options_;
};

}  // namespace

Op contrast_limited_adaptive_histogram_equalization(
    const ContrastLimitedAdaptiveHistogramEqualization& options) {
  return Op(std::make_shared<ClaheStep>(options));
}

}  // namespace stoker::image
