// augment, augment_mix.
#include "base/augment_stages.h"
#include "support/op_cases.h"

namespace stoker::test {

namespace {

using augment::Kind;

Attrs augment_attrs(const std::vector<augment::Stage>& stages, const Ints& size,
                    int64_t stream = 1) {
  return {{"stages", augment::numbers_of(stages)}, {"size", size}, {"stream", stream}};
}

// Positions and four taps; values up to 255.
Bound pixels() { return ulps(64, 255); }

void add_augment(OpCases& cases, std::string name, const std::vector<augment::Stage>& stages,
                 Shape x = {3, 6, 7, 3}, Ints size = {6, 7}) {
  cases.good.push_back({std::move(name),
                        augment_attrs(stages, size),
                        {{x, {.low = 10, .high = 250}}, {{2}, {.values = {11, 3}}, kInt64}},
                        pixels(),
                        false});
}

void add_augment_good(OpCases& cases) {
  using namespace augment;
  const Factor bytes = {0, 255};
  auto ranged = [&](Kind kind, const Factor& factor) {
    return range_stage("test", kind, factor, bytes);
  };
  add_augment(cases, "flip", {flip_stage("test", "horizontal_and_vertical")});
  for (const char* fill : {"constant", "nearest", "reflect", "wrap"})
    add_augment(cases, std::string("rotation_") + fill,
                {rotation_stage("test", 0.3, {.fill_mode = fill, .fill_value = 5})});
  add_augment(cases, "zoom", {zoom_stage("test", 0.4, 0.2, {})}, {2, 5, 8, 1}, {5, 8});
  add_augment(cases, "shear", {shear_stage("test", 0.3, 0.2, {})});
  add_augment(cases, "perspective", {perspective_stage("test", 1.0, 0.5, {})});
  add_augment(cases, "crop", {crop_stage()}, {4, 9, 8, 2}, {3, 5});
  add_augment(cases, "brightness", {ranged(Kind::brightness, 0.3)});
  add_augment(cases, "contrast", {ranged(Kind::contrast, 0.4)}, {2, 33, 17, 4}, {33, 17});
  add_augment(cases, "hue", {ranged(Kind::hue, 0.4)});
  add_augment(cases, "saturation", {ranged(Kind::saturation, {0.3, 0.8})});
  add_augment(cases, "degeneration", {ranged(Kind::degeneration, 0.8)});
  add_augment(cases, "grayscale", {grayscale_stage("test", 0.5)});
  add_augment(cases, "sharpness", {ranged(Kind::sharpness, 0.9)});
  add_augment(cases, "blur", {blur_stage("test", 1.0, 3, 5, 1.0, bytes)});
  add_augment(cases, "auto_contrast", {auto_contrast_stage("test", bytes)});
  add_augment(cases, "erasing", {erasing_stage("test", 1.0, {0.1, 0.5}, 7.0, bytes)});
  add_augment(cases, "noise", {noise_stage(2)}, {2, 1, 50, 1}, {1, 50});
  add_augment(
      cases, "one_of_three",
      {rotation_stage("test", 0.1, {}), ranged(Kind::brightness, 0.2), ranged(Kind::contrast, 0.2)},
      {9, 6, 7, 3});
}

}  // namespace

void add_augment_cases(OpCaseTable& table) {
  OpCases& cases = table["augment"];
  add_augment_good(cases);
  TensorSpec x{kFloat32, {2, 6, 7, 3}}, grey{kFloat32, {2, 6, 7, 1}}, state{kInt64, {2}};
  std::vector<augment::Stage> flip = {augment::flip_stage("test", "horizontal")};
  std::vector<augment::Stage> hue = {augment::range_stage("test", Kind::hue, 0.5, {0, 255})};
  cases.bad = {{"another size without a crop", augment_attrs(flip, {5, 7}), {x, state}},
               {"a crop larger than the picture",
                augment_attrs({augment::crop_stage()}, {7, 7}),
                {x, state}},
               {"hue of one channel", augment_attrs(hue, {6, 7}), {grey, state}},
               {"no stages", augment_attrs({}, {6, 7}), {x, state}},
               {"no state", augment_attrs(flip, {6, 7}), {x}}};

  OpCases& mixes = table["augment_mix"];
  auto mix_attrs = [](bool cut, bool labels, Ints size, Doubles alpha = {0.5, 0.5}) -> Attrs {
    return {{"cut", cut},
            {"alpha", std::move(alpha)},
            {"size", std::move(size)},
            {"labels", labels},
            {"stream", int64_t(2)}};
  };
  auto add_mix = [&](std::string name, Attrs attrs, Shape shape) {
    mixes.good.push_back({std::move(name),
                          std::move(attrs),
                          {{shape}, {{2}, {.values = {5, 9}}, kInt64}},
                          ulps(64, 1),
                          false});
  };
  add_mix("sum", mix_attrs(false, false, {4, 5}), {7, 4, 5, 3});
  add_mix("sum_of_labels", mix_attrs(false, true, {4, 5}), {7, 10});
  add_mix("cut", mix_attrs(true, false, {8, 9}, {0, 1}), {6, 8, 9, 2});
  add_mix("labels_of_a_cut", mix_attrs(true, true, {8, 9}, {0, 1}), {6, 4});
  add_mix("alone", mix_attrs(false, false, {2, 2}), {1, 2, 2, 1});
  mixes.bad = {{"pictures of another size", mix_attrs(false, false, {5, 7}), {x, state}},
               {"one alpha", mix_attrs(false, false, {6, 7}, {0.5}), {x, state}},
               {"alpha of 0", mix_attrs(false, false, {6, 7}, {0, 0}), {x, state}},
               {"no state", mix_attrs(false, false, {6, 7}), {x}}};
}

}  // namespace stoker::test
