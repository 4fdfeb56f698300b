// Operations as values: specs, names, randomness, instruction sets, use as functions of elements.
#include <thread>

#include <gtest/gtest.h>
#include <stoker/image.h>

#include "data/image/function.h"
#include "data/image/run_op.h"
#include "image/pictures.h"

namespace stoker::test {
namespace {

using namespace image;

const TensorSpec kBytes{DType::bytes, {}};

TEST(ImageOp, KnowsWhatItMakes) {
  Op op = decode_jpeg() | random_resized_crop(224) | random_flip_left_right();
  EXPECT_EQ(to_string(op.infer(kBytes)), "uint8[224, 224, 3]");
  EXPECT_EQ(op.name(), "decode_jpeg | random_resized_crop(224) | random_flip_left_right");
  EXPECT_TRUE(op.is_random());
  EXPECT_FALSE(decode_jpeg().is_random());
  EXPECT_EQ(to_string(decode_jpeg().infer(kBytes)), "uint8[None, None, 3]");
  EXPECT_EQ(to_string(decode_png({.channels = 0}).infer(kBytes)), "uint8[None, None, None]");
  EXPECT_EQ(to_string((op | normalize({1, 2, 3}, {1, 1, 1})).infer(kBytes)),
            "float32[224, 224, 3]");
  EXPECT_EQ(to_string((decode_jpeg() | flip_up_down() | convert(DType::bfloat16)).infer(kBytes)),
            "bfloat16[None, None, 3]");
  EXPECT_EQ(to_string(one_hot(10).infer({DType::int64, {}})), "float32[10]");
  EXPECT_EQ(to_string((decode_jpeg() | encode_jpeg()).infer(kBytes)), "bytes[]");
}

TEST(ImageOp, RefusesWhatCannotWorkWhereItIsWritten) {
  struct Case {
    Op op;
    TensorSpec in;
    std::string text;
  };
  const Case cases[] = {
      {resize(4, 4), kBytes,
       "resize(4): got bytes[]; expected pixels in uint8 or float32: put image::decode_image() "
       "before it"},
      {decode_jpeg(),
       {DType::uint8, {5, 5, 3}},
       "decode_jpeg: got uint8[5, 5, 3]; expected the bytes of one file, bytes[]"},
      {crop(0, 0, 10, 12),
       {DType::uint8, {9, 20, 3}},
       "crop(0, 0, 10, 12): got uint8[9, 20, 3]; it needs a picture of at least 10×12: put "
       "image::resize "
       "before it"},
      {flip_left_right(),
       {DType::uint8, {32, 9, 20, 3}},
       "flip_left_right: got uint8[32, 9, 20, 3]; expected one picture [height, width, channels]: "
       "map it "
       "before batch"},
      {brightness(0.5),
       {DType::int32, {9, 20, 3}},
       "brightness(0.5): got int32[9, 20, 3]; expected uint8 or float32: put "
       "image::convert(DType::float32) "
       "before it"},
      {saturation(0.5),
       {DType::uint8, {9, 20, 1}},
       "saturation(0.5): got uint8[9, 20, 1]; expected three channels (RGB) in the last dimension"},
      {normalize({1, 2, 3}, {1, 1, 1}),
       {DType::uint8, {9, 20, 1}},
       "normalize: got uint8[9, 20, 1]; it has means of 3 channels: the last dimension has to be "
       "that"},
      {one_hot(5), {DType::float32, {}}, "one_hot(5): got float32[]; expected integers"},
  };
  for (const Case& c : cases) {
    try {
      c.op.infer(c.in);
      ADD_FAILURE() << c.op.name() << " took " << to_string(c.in);
    } catch (const ShapeError& error) {
      EXPECT_EQ(error.what(), c.text);
    }
  }
}

TEST(ImageOp, FindsAtRunTimeWhatTheSpecCouldNotTell) {
  Tensor jpeg = bytes_tensor(make_jpeg(make_picture(10, 10, 3)));
  EXPECT_NO_THROW((decode_jpeg() | crop(0, 0, 11, 5)).infer(kBytes));
  EXPECT_THROW((decode_jpeg() | crop(0, 0, 11, 5))(jpeg), ShapeError);
  Tensor rgba = bytes_tensor(make_png(make_picture(10, 10, 4)));
  EXPECT_THROW((decode_png({.channels = 0}) | normalize({1, 2, 3}, {1, 1, 1}))(rgba), ShapeError);
}

TEST(ImageOp, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(resize(0, 4), ValueError);
  EXPECT_THROW(crop(-1, 0, 4, 4), ValueError);
  EXPECT_THROW(random_crop(4, 4, {.padding = -1}), ValueError);
  EXPECT_THROW(random_resized_crop(4, {.scale = {0.5, 0.1}}), ValueError);
  EXPECT_THROW(random_resized_crop(4, {.scale = {0, 1}}), ValueError);
  EXPECT_THROW(random_flip_left_right(1.5), ValueError);
  EXPECT_THROW(contrast(-1), ValueError);
  EXPECT_THROW(random_saturation(2, 1), ValueError);
  EXPECT_THROW(normalize({1, 2}, {1, 2, 3}), ValueError);
  EXPECT_THROW(normalize({1}, {0}), ValueError);
  EXPECT_THROW(normalize({}, {}), ValueError);
  EXPECT_THROW(convert(DType::bytes), ValueError);
  EXPECT_THROW(one_hot(0), ValueError);
  EXPECT_THROW(encode_jpeg({.quality = 0}), ValueError);
  EXPECT_THROW(add_restart_markers({.mcus = 0}), ValueError);
}

TEST(ImageOp, WantsAnRngForRandomness) {
  try {
    random_flip_left_right()(make_picture(3, 3, 3));
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(), "random_flip_left_right is random; pass an Rng: op(tensor, rng)");
  }
}

TEST(ImageOp, TheSameKeyGivesTheSameBytesOnEveryThread) {
  Tensor jpeg = bytes_tensor(make_jpeg(make_picture(120, 160, 3), {.h = 2, .v = 2}));
  Op op = decode_jpeg() | random_resized_crop(48) | random_flip_left_right() |
          random_brightness(0.2) | random_contrast(0.5, 1.5) | random_saturation(0.5, 1.5);
  auto make = [&](uint64_t key) {
    Rng rng(key);
    return op(jpeg, rng);
  };
  std::vector<Tensor> expected(20);
  for (uint64_t key = 0; key < 20; ++key) expected[key] = make(key);
  EXPECT_FALSE(expected[0] == expected[1]);
  std::vector<int> same(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t key = 0; key < 20; ++key) same[t] += make(19 - key) == expected[19 - key];
    });
  for (auto& thread : threads) thread.join();
  for (int count : same) EXPECT_EQ(count, 20);
}

class Memory : public Target {
 public:
  void* put(DType dtype, const Shape& shape) override {
    tensor = Tensor(dtype, shape);
    return tensor.raw_mut();
  }
  Tensor tensor;
};

TEST(ImageOp, AllInstructionSetsGiveTheSameBytes) {
  std::vector<Op> ops;
  for (const Resize& how :
       {Resize{}, Resize{.antialias = true}, Resize{.method = ResizeMethod::area},
        Resize{.method = ResizeMethod::nearest}})
    for (auto [h, w] : {std::pair(17, 19), {40, 224}, {111, 3}, {1, 1}, {200, 300}})
      ops.push_back(resize(h, w, how) | flip_left_right());
  ops.push_back(flip_left_right());
  ops.push_back(normalize({100}, {50}) | rescale(1.1, 0.3) | flip_left_right());
  ops.push_back(brightness(0.1) | contrast(1.3) | brightness(-0.2));
  ops.push_back(convert(DType::float32) | contrast(0.7) | convert(DType::uint8));
  if (processor_isa() == Isa::generic) GTEST_SKIP() << "this processor has one set only";
  for (Isa isa : {Isa::avx2, Isa::avx512}) {
    if (isa > processor_isa()) continue;
    for (int64_t channels : {1, 2, 3, 4, 6})
      for (int64_t width : {1, 5, 31, 90, 131})
        for (const Tensor& in :
             {make_picture(57, width, channels), make_float_picture(57, width, channels)}) {
          std::vector<Op> all = ops;
          if (channels == 3) all.push_back(saturation(1.7) | brightness(0.01) | saturation(0.6));
          for (const Op& op : all) {
            Memory plain, vectors;
            run(op, in, nullptr, plain, kernels_of(Isa::generic));
            run(op, in, nullptr, vectors, kernels_of(isa));
            ASSERT_TRUE(plain.tensor == vectors.tensor)
                << kernels_of(isa).name << ": " << op.name() << " of " << to_string(in.spec());
          }
        }
  }
}

// An element in memory, as a dataset's worker would hold it.
class Element : public data::ElementWriter {
 public:
  explicit Element(size_t size) : parts(size) {}
  void* put(size_t index, DType dtype, const Shape& shape) override {
    parts[index] = Tensor(dtype, shape);
    return parts[index].raw_mut();
  }
  void copy(size_t index, const ConstTensorView& value) override {
    copy_values(value, {value.dtype, value.shape, put(index, value.dtype, value.shape)});
  }
  std::vector<Tensor> parts;
};

TEST(ImageFunction, ChangesOneComponentAndPassesTheOthersOn) {
  Tensor jpeg = bytes_tensor(make_jpeg(make_picture(30, 40, 3))),
         label = Tensor::full({}, 3, DType::int64);
  Op op = decode_jpeg() | random_resized_crop(16);
  auto function = data::as_function(op, 0);
  EXPECT_EQ(function->name(), op.name());
  EXPECT_TRUE(function->is_random());
  auto spec = function->infer({kBytes, label.spec()});
  ASSERT_EQ(spec.size(), 2U);
  EXPECT_EQ(to_string(spec[0]), "uint8[16, 16, 3]");
  EXPECT_EQ(spec[1], label.spec());
  Element out(2);
  ConstTensorView in[] = {jpeg, label};
  Rng a(5), b(5);
  function->apply(in, out, a);
  EXPECT_TRUE(out.parts[0] == op(jpeg, b));
  EXPECT_TRUE(out.parts[1] == label);
  EXPECT_THROW(data::as_function(op, 2)->infer({kBytes, label.spec()}), ShapeError);

  Element hot(2);
  ConstTensorView done[] = {out.parts[0], label};
  data::as_function(one_hot(5), 1)->apply(done, hot, a);
  EXPECT_TRUE(hot.parts[0] == out.parts[0]);
  EXPECT_EQ(hot.parts[1].at(3), 1);
}

TEST(ImageFunction, HoldsItsScratchAndGivesBackWhatALargePictureTook) {
  Tensor small = bytes_tensor(make_jpeg(make_picture(100, 100, 3)));
  Op op = decode_jpeg() | resize(32, 32);
  op(small);
  size_t before = data::image_scratch_bytes();
  EXPECT_GT(before, 0U);
  for (int i = 0; i < 10; ++i) op(small);
  EXPECT_EQ(data::image_scratch_bytes(), before);
  op(bytes_tensor(make_jpeg(Tensor::full({5000, 5000, 3}, 9, DType::uint8))));
  EXPECT_LT(data::image_scratch_bytes(), before + (1 << 20));
}

TEST(ImageView, ShowsThePixelsOfAPicture) {
  Tensor picture = make_picture(4, 5, 3);
  Image view(picture);
  EXPECT_EQ(view.height, 4);
  EXPECT_EQ(view.width, 5);
  EXPECT_EQ(*view.pixel(2, 3), picture.at((2 * 5 + 3) * 3));
  EXPECT_EQ(view.row(3).size(), 15U);
  EXPECT_THROW(Image(make_float_picture(4, 5, 3)), ShapeError);
}

}  // namespace
}  // namespace stoker::test
