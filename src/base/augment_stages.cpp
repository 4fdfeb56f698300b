#include "base/augment_stages.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker::augment {

namespace {

std::string text(const Factor& factor) {
  return factor.high ? fmt::format("{{{}, {}}}", factor.low, *factor.high)
                     : fmt::format("{}", factor.low);
}

// The two numbers of a factor within [low, high]; a single one f is -f … f, as far as that is inside.
Range resolved(const std::string& owner, const char* name, const Factor& factor, Range within) {
  Range given = factor.high
                    ? Range{std::min(factor.low, *factor.high), std::max(factor.low, *factor.high)}
                    : Range{std::max(-std::abs(factor.low), within.low), std::abs(factor.low)};
  if (!(given.low >= within.low && given.high <= within.high))
    throw ValueError(fmt::format("{}: {} is {}, expected a number or two numbers in [{}, {}]",
                                 owner, name, text(factor), within.low, within.high));
  return given;
}

void set_range(Stage& stage, int first, Range range) {
  stage.a[first] = float(range.low);
  stage.a[first + 1] = float(range.high);
}

void set_values(const std::string& owner, Stage& stage, const Factor& values) {
  if (!values.high || !(values.low < *values.high))
    throw ValueError(fmt::format(
        "{}: value_range is {}, expected its lowest and its highest number", owner, text(values)));
  stage.low = float(values.low);
  stage.high = float(*values.high);
}

Stage sampled(const std::string& owner, Kind kind, const Sampling& how) {
  constexpr std::array kModes = {"constant", "nearest", "reflect", "wrap"};
  auto mode = std::ranges::find(kModes, how.fill_mode);
  if (mode == kModes.end())
    throw ValueError(
        fmt::format("{}: fill_mode is \"{}\", expected constant, nearest, reflect or wrap", owner,
                    how.fill_mode));
  if (how.interpolation != "bilinear" && how.interpolation != "nearest")
    throw ValueError(fmt::format("{}: interpolation is \"{}\", expected bilinear or nearest", owner,
                                 how.interpolation));
  Stage stage;
  stage.kind = kind;
  stage.fill = Fill(mode - kModes.begin());
  stage.bilinear = how.interpolation == "bilinear";
  stage.fill_value = float(how.fill_value);
  return stage;
}

Stage of_values(const std::string& owner, Kind kind, const Factor& values) {
  Stage stage;
  stage.kind = kind;
  set_values(owner, stage, values);
  return stage;
}

constexpr Range kShare = {0, 1}, kSigned = {-1, 1};

}  // namespace

Stage flip_stage(const std::string& owner, const std::string& mode) {
  bool both = mode == "horizontal_and_vertical";
  if (!both && mode != "horizontal" && mode != "vertical")
    throw ValueError(
        fmt::format("{}: mode is \"{}\", expected horizontal, vertical or horizontal_and_vertical",
                    owner, mode));
  Stage stage;
  stage.kind = Kind::flip;
  stage.a[0] = both || mode == "horizontal" ? 1.0F : 0.0F;
  stage.a[1] = both || mode == "vertical" ? 1.0F : 0.0F;
  return stage;
}

Stage rotation_stage(const std::string& owner, const Factor& factor, const Sampling& how) {
  Stage stage = sampled(owner, Kind::rotation, how);
  set_range(stage, 0, resolved(owner, "factor", factor, kSigned));
  return stage;
}

Stage translation_stage(const std::string& owner, const Factor& height, const Factor& width,
                        const Sampling& how) {
  Stage stage = sampled(owner, Kind::translation, how);
  set_range(stage, 0, resolved(owner, "height_factor", height, kSigned));
  set_range(stage, 2, resolved(owner, "width_factor", width, kSigned));
  return stage;
}

Stage zoom_stage(const std::string& owner, const Factor& height, const std::optional<Factor>& width,
                 const Sampling& how) {
  Stage stage = sampled(owner, Kind::zoom, how);
  set_range(stage, 0, resolved(owner, "height_factor", height, kSigned));
  if (!width) return stage;
  set_range(stage, 2, resolved(owner, "width_factor", *width, kSigned));
  stage.a[4] = 1;
  return stage;
}

Stage shear_stage(const std::string& owner, const Factor& x, const Factor& y, const Sampling& how) {
  Stage stage = sampled(owner, Kind::shear, how);
  set_range(stage, 0, resolved(owner, "x_factor", x, kShare));
  set_range(stage, 2, resolved(owner, "y_factor", y, kShare));
  return stage;
}

Stage perspective_stage(const std::string& owner, const Factor& factor, double scale,
                        const Sampling& how) {
  Stage stage = sampled(owner, Kind::perspective, how);
  set_range(stage, 0, resolved(owner, "factor", factor, kShare));
  if (!(scale >= 0 && scale <= 1))
    throw ValueError(fmt::format("{}: scale is {}, expected 0 to 1", owner, scale));
  stage.a[2] = float(scale);
  return stage;
}

Stage crop_stage() {
  Stage stage;
  stage.kind = Kind::crop;
  return stage;
}

Stage range_stage(const std::string& owner, Kind kind, const Factor& factor, const Factor& values) {
  Stage stage = of_values(owner, kind, values);
  Range range = resolved(owner, "factor", factor, kind == Kind::brightness ? kSigned : kShare);
  // {lower, upper}: 1 - lower … 1 + upper; a single number is both.
  if (kind == Kind::contrast)
    range = {1 - std::abs(factor.low), 1 + std::abs(factor.high.value_or(factor.low))};
  set_range(stage, 0, range);
  return stage;
}

Stage grayscale_stage(const std::string& owner, double probability) {
  if (!(probability >= 0 && probability <= 1))
    throw ValueError(fmt::format("{}: factor is {}, expected 0 to 1", owner, probability));
  Stage stage;
  stage.kind = Kind::grayscale;
  stage.a[0] = float(probability);
  return stage;
}

Stage posterization_stage(const std::string& owner, const Factor& bits, const Factor& values) {
  Stage stage = of_values(owner, Kind::posterization, values);
  Factor both = bits.high ? bits : Factor(bits.low, bits.low);
  set_range(stage, 0, resolved(owner, "factor", both, {1, 8}));
  return stage;
}

Stage solarization_stage(const std::string& owner, const Factor& addition, const Factor& threshold,
                         const Factor& values) {
  Stage stage = of_values(owner, Kind::solarization, values);
  set_range(stage, 0, resolved(owner, "addition_factor", addition, kShare));
  set_range(stage, 2, resolved(owner, "threshold_factor", threshold, kShare));
  return stage;
}

Stage blur_stage(const std::string& owner, const Factor& factor, int64_t height, int64_t width,
                 const Factor& sigma, const Factor& values) {
  Stage stage = of_values(owner, Kind::blur, values);
  set_range(stage, 0, resolved(owner, "factor", factor, kShare));
  if (height < 1 || width < 1 || height > 255 || width > 255)
    throw ValueError(
        fmt::format("{}: kernel_size is {{{}, {}}}, expected 1 to 255", owner, height, width));
  stage.a[2] = float(height);
  stage.a[3] = float(width);
  set_range(stage, 4, resolved(owner, "sigma", sigma, kShare));
  return stage;
}

Stage auto_contrast_stage(const std::string& owner, const Factor& values) {
  return of_values(owner, Kind::auto_contrast, values);
}

Stage equalization_stage(const std::string& owner, int64_t bins, const Factor& values) {
  Stage stage = of_values(owner, Kind::equalization, values);
  if (bins < 2 || bins > kMostBins)
    throw ValueError(fmt::format("{}: bins is {}, expected 2 to {}", owner, bins, kMostBins));
  stage.a[0] = stage.a[1] = float(bins);
  return stage;
}

Stage erasing_stage(const std::string& owner, const Factor& factor, const Factor& scale,
                    const std::optional<double>& fill_value, const Factor& values) {
  Stage stage = of_values(owner, Kind::erasing, values);
  set_range(stage, 0, resolved(owner, "factor", factor, kShare));
  set_range(stage, 2, resolved(owner, "scale", scale, kShare));
  stage.a[4] = fill_value ? 1.0F : 0.0F;
  stage.fill_value = float(fill_value.value_or(0));
  return stage;
}

Stage noise_stage(double deviation) {
  Stage stage;
  stage.kind = Kind::noise;
  stage.a[0] = float(deviation);
  return stage;
}

std::vector<Stage> rand_augment_stages(const std::string& owner, const Factor& factor,
                                       const std::string& interpolation, const Factor& values) {
  Range share = resolved(owner, "factor", factor, kShare);
  Factor by = {share.low, share.high};
  Sampling how = {.interpolation = interpolation};
  return {shear_stage(owner, by, by, how),
          translation_stage(owner, by, by, how),
          rotation_stage(owner, by, how),
          range_stage(owner, Kind::brightness, by, values),
          range_stage(owner, Kind::degeneration, by, values),
          range_stage(owner, Kind::contrast, by, values),
          range_stage(owner, Kind::sharpness, by, values),
          solarization_stage(owner, by, by, values),
          posterization_stage(owner, std::max(1.0, std::floor(8 * share.high)), values),
          auto_contrast_stage(owner, values),
          equalization_stage(owner, kMostBins, values)};
}

std::vector<Stage> aug_mix_stages(const std::string& owner, const Factor& factor,
                                  const std::string& interpolation, const Factor& values,
                                  bool all) {
  std::vector<Stage> stages = rand_augment_stages(owner, factor, interpolation, values);
  if (!all)
    std::erase_if(stages, [](const Stage& stage) {
      return stage.kind == Kind::brightness || stage.kind == Kind::degeneration ||
             stage.kind == Kind::contrast || stage.kind == Kind::sharpness;
    });
  Stage none;
  none.kind = Kind::flip;  // of neither axis
  stages.push_back(none);
  return stages;
}

Range share_range(const std::string& owner, const char* name, const Factor& factor) {
  return resolved(owner, name, factor, kShare);
}

bool needs_colours(Kind kind) { return kind == Kind::hue || kind == Kind::saturation; }

std::vector<double> numbers_of(std::span<const Stage> stages) {
  std::vector<double> numbers;
  for (const Stage& stage : stages) {
    numbers.insert(numbers.end(),
                   {double(stage.kind), double(stage.fill), double(stage.bilinear),
                    double(stage.fill_value), double(stage.low), double(stage.high)});
    numbers.insert(numbers.end(), std::begin(stage.a), std::end(stage.a));
  }
  return numbers;
}

std::vector<Stage> stages_of(std::span<const double> numbers) {
  size_t count = numbers.size() / kStageNumbers;
  if (count == 0 || count > kMostStages || numbers.size() % kStageNumbers != 0)
    throw ValueError(fmt::format("expected the numbers of 1 to {} stages, {} each, got {} numbers",
                                 kMostStages, kStageNumbers, numbers.size()));
  std::vector<Stage> stages(count);
  for (size_t i = 0; i < count; ++i) {
    std::span<const double> own = numbers.subspan(i * kStageNumbers, kStageNumbers);
    if (!(own[0] >= 0 && own[0] < double(Kind::warp) && own[1] >= 0 &&
          own[1] <= double(Fill::wrap)))
      throw ValueError(fmt::format("unknown kind {} or fill mode {} of a stage", own[0], own[1]));
    stages[i] = {.kind = Kind(int(own[0])),
                 .fill = Fill(int(own[1])),
                 .bilinear = int32_t(own[2]),
                 .fill_value = float(own[3]),
                 .low = float(own[4]),
                 .high = float(own[5])};
    for (size_t j = 0; j < 6; ++j) stages[i].a[j] = float(own[6 + j]);
  }
  return stages;
}

}  // namespace stoker::augment
