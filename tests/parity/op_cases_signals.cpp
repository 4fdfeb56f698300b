// Cases of networks, signals and images.
#include "parity/op_cases.h"

namespace stoker::test {

namespace {

ops::Complex halves(const Value& signal) {
  return {part(signal, {{}, {.end = 20}}), part(signal, {{}, {.begin = 20}})};
}

Values both(const ops::Complex& z) { return {z.real, z.imag}; }

Value as_logits(const Value& image) { return ops::reshape(image, {2, 16, 9}) * 8.0; }

Values decoded(const Value& logits, const std::vector<int32_t>& lengths,
               const ops::CtcDecode& options) {
  ops::CtcDecoded found = ops::ctc_decode(logits, Tensor::from(lengths, {2}), options);
  return {found.sequences, found.scores};
}

constexpr ops::Stft kStft{.sequence_length = 12, .sequence_stride = 5, .fft_length = 16};

Value matrix(std::vector<float> numbers) { return Tensor::from(numbers, {8}); }

}  // namespace

OpCases nn_cases() {
  return {
      {"glu", STOKER_ONE("x", glu)},
      {"sparse_plus", STOKER_ONE("x", sparse_plus)},
      {"sparse_sigmoid", STOKER_ONE("x", sparse_sigmoid)},
      {"celu", STOKER_CASE("x", {ops::celu(i[0], 0.7)})},
      {"squareplus", STOKER_CASE("x", {ops::squareplus(i[0], 2)})},
      {"threshold", STOKER_CASE("x", {ops::threshold(i[0], 0.3, -1)})},
      {"hard_shrink", STOKER_CASE("x", {ops::hard_shrink(i[0], 0.8)})},
      {"soft_shrink", STOKER_CASE("x", {ops::soft_shrink(i[0], 0.8)})},
      {"normalize", STOKER_CASE("x", {ops::normalize(i[0], {.axis = 0})})},
      {"normalize_3", STOKER_CASE("x", {ops::normalize(i[0], {.order = 3})})},
      {"layer_normalization",
       STOKER_CASE("x v", {ops::layer_normalization(i[0], {.gamma = i[1]})})},
      {"rms_normalization", STOKER_CASE("x v", {ops::rms_normalization(i[0], {.scale = i[1]})})},
      {"batch_normalization",
       STOKER_CASE("x v w", {ops::batch_normalization(i[0], i[1], i[2] * i[2], {.scale = i[2]})})},
      {"binary_crossentropy",
       STOKER_CASE("p", {ops::binary_crossentropy(ops::greater(i[0], 1.2), i[0] / 3.0)})},
      {"categorical_crossentropy",
       STOKER_CASE("p x", {ops::categorical_crossentropy(i[0], i[0] * 2.0 + i[1] * i[1])})},
      {"sparse_categorical_crossentropy", STOKER_TWO("ids p", sparse_categorical_crossentropy)},
      {"ctc_greedy", STOKER_CASE("image", decoded(as_logits(i[0]), {16, 11}, {}))},
      {"ctc_repeated", STOKER_CASE("image", decoded(as_logits(i[0]), {16, 11},
                                                    {.merge_repeated = false, .mask_index = 4}))},
      {"ctc_beam",
       STOKER_CASE("image",
                   decoded(part(as_logits(i[0]), {{}, {.end = 6}}), {6, 4},
                           {.strategy = "beam_search", .beam_width = 50, .top_paths = 3}))},
      {"multi_hot", STOKER_CASE("places", {ops::multi_hot(i[0], 6)})},
      {"psnr", STOKER_CASE("x y", {ops::psnr(i[0], i[1], 4)})},
  };
}

OpCases signal_cases() {
  namespace im = ops::image;
  return {
      {"fft", STOKER_CASE("signal", both(ops::fft(halves(i[0]))))},
      {"ifft2", STOKER_CASE("a", both(ops::ifft2({i[0], i[0] * i[0]})))},
      {"rfft", STOKER_CASE("signal", both(ops::rfft(i[0], 48)))},
      {"irfft", STOKER_CASE("signal", {ops::irfft(halves(i[0]))})},
      {"polar", STOKER_CASE("p x", both(ops::polar(i[0], i[1])))},
      {"conjugate",
       STOKER_CASE("b", both(ops::conjugate(ops::view_as_complex(part(i[0], {{}, {}, {.end = 2}})))))},
      {"view_as_real", STOKER_CASE("x y", {ops::view_as_real({i[0], i[1]})})},
      {"jvp",
       {"x y v",
        [](const Values& i) -> Values {
          auto f = [](const Values& at) -> Values {
            return {ops::sin(at[0]) * at[1], ops::exp(at[0] * 0.5)};
          };
          ops::Jvp found = ops::jvp(f, {i[0], i[2]}, {i[1], i[2] * i[2]});
          return {found.outputs[0], found.outputs[1], found.tangents[0], found.tangents[1]};
        }}},
      {"stft", STOKER_CASE("signal", both(ops::stft(i[0], kStft)))},
      {"resize_bilinear", STOKER_CASE("image", {im::resize(i[0], {9, 5})})},
      {"resize_nearest",
       STOKER_CASE("image", {im::resize(i[0], {9, 5}, {.interpolation = "nearest"})})},
      {"resize_bicubic",
       STOKER_CASE("image",
                   {im::resize(i[0], {3, 4}, {.interpolation = "bicubic", .antialias = true})})},
      {"resize_lanczos3",
       STOKER_CASE("image", {im::resize(i[0], {9, 5}, {.interpolation = "lanczos3"})})},
      {"resize_antialias", STOKER_CASE("image", {im::resize(i[0], {3, 4}, {.antialias = true})})},
      {"resize_crop",
       STOKER_CASE("image", {im::resize(i[0], {6, 4}, {.crop_to_aspect_ratio = true})})},
      {"affine_transform",
       STOKER_CASE("image", {im::affine_transform(
                                i[0], matrix({0.9F, 0.2F, 0.3F, -0.1F, 1.1F, 0.2F, 0, 0}))})},
      {"affine_reflect",
       STOKER_CASE("image", {im::affine_transform(
                                i[0], matrix({1.4F, 0.2F, -2.3F, -0.1F, 1.3F, -1.2F, 0, 0}),
                                {.fill_mode = "reflect"})})},
      {"map_coordinates",
       {"x u",
        [](const Values& i) -> Values {
          Value row = ops::squeeze(part(i[1], {{.end = 1}}), 0);
          Value column = ops::squeeze(part(i[1], {{.begin = 1, .end = 2}}), 0);
          return {im::map_coordinates(i[0], ops::stack({row * 2.0 + 1.5, column * 4.0 + 2.5}))};
        }}},
      {"extract_patches",
       STOKER_CASE("image",
                   {im::extract_patches(i[0], {2, 3}, {.strides = {2, 2}, .padding = "same"})})},
      {"extract_patches_3d",
       STOKER_CASE("image", {im::extract_patches_3d(ops::reshape(i[0], {2, 3, 4, 4, 3}), {2, 2, 3},
                                                    {.strides = {1, 2, 1}, .padding = "same"})})},
      {"extract_patches_3d_valid",
       STOKER_CASE("image", {im::extract_patches_3d(
                                ops::squeeze(part(ops::reshape(i[0], {2, 3, 4, 4, 3}), {{.end = 1}}), 0),
                                {2, 2, 2})})},
      {"rgb_to_grayscale", STOKER_CASE("image", {im::rgb_to_grayscale(i[0])})},
      {"rgb_to_hsv", STOKER_CASE("image", {im::rgb_to_hsv(i[0])})},
      {"hsv_to_rgb", STOKER_CASE("image", {im::hsv_to_rgb(i[0])})},
      {"gaussian_blur", STOKER_CASE("image", {im::gaussian_blur(i[0])})},
  };
}

}  // namespace stoker::test
