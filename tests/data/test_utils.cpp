// keras.utils for data, against what Keras 3.15 gives.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include <gtest/gtest.h>
#include <stoker/utils.h>

#include "base/file.h"
#include "formats/wav.h"
#include "support/temp_dir.h"

namespace stoker::test {
namespace {

Tensor ids(std::vector<int64_t> values) {
  auto count = int64_t(values.size());
  return Tensor::from(values, {count});
}
Tensor floats(const std::vector<float>& values, const Shape& shape) {
  return Tensor::from(values, shape);
}

TEST(ToCategorical, MakesOneHotRows) {
  EXPECT_EQ(utils::to_categorical(ids({0, 2, 1})), floats({1, 0, 0, 0, 0, 1, 0, 1, 0}, {3, 3}));
  EXPECT_EQ(utils::to_categorical(ids({1, 0}), 4), floats({0, 1, 0, 0, 1, 0, 0, 0}, {2, 4}));
}

TEST(ToCategorical, ReplacesALastDimensionOfOne) {
  EXPECT_EQ(utils::to_categorical(ids({1, 0}).reshape({2, 1})).shape(), Shape({2, 2}));
  EXPECT_EQ(utils::to_categorical(ids({1, 0, 1, 1}).reshape({2, 2})).shape(), Shape({2, 2, 2}));
}

TEST(ToCategorical, RefusesClassesThatThereAreNot) {
  EXPECT_THROW(utils::to_categorical(ids({0, 3}), 3), ValueError);
  EXPECT_THROW(utils::to_categorical(ids({-1}), 3), ValueError);
  EXPECT_THROW(utils::to_categorical(ids({0}), -3), ValueError);
}

TEST(Normalize, DividesByTheNorm) {
  Tensor x = floats({3, 4, 0, 0}, {2, 2});
  EXPECT_EQ(utils::normalize(x), floats({0.6F, 0.8F, 0, 0}, {2, 2}));
  EXPECT_EQ(utils::normalize(x, 0, 1), floats({1, 1, 0, 0}, {2, 2}));
  EXPECT_EQ(utils::normalize(x, 1, std::numeric_limits<double>::infinity()),
            floats({0.75F, 1, 0, 0}, {2, 2}));
  EXPECT_THROW(utils::normalize(x, 2), ShapeError);
}

TEST(PadSequences, PadsAndCutsInFrontAsKeras) {
  std::vector<std::vector<int64_t>> sequences = {{1}, {2, 3}, {4, 5, 6}};
  auto rows = [](std::vector<int32_t> values, const Shape& shape) {
    return Tensor::from(values, shape);
  };
  EXPECT_EQ(utils::pad_sequences(sequences), rows({0, 0, 1, 0, 2, 3, 4, 5, 6}, {3, 3}));
  EXPECT_EQ(utils::pad_sequences(sequences, {.value = -1}),
            rows({-1, -1, 1, -1, 2, 3, 4, 5, 6}, {3, 3}));
  EXPECT_EQ(utils::pad_sequences(sequences, {.padding = "post"}),
            rows({1, 0, 0, 2, 3, 0, 4, 5, 6}, {3, 3}));
  EXPECT_EQ(utils::pad_sequences(sequences, {.maxlen = 2}), rows({0, 1, 2, 3, 5, 6}, {3, 2}));
  EXPECT_EQ(utils::pad_sequences(sequences, {.maxlen = 2, .truncating = "post"}),
            rows({0, 1, 2, 3, 4, 5}, {3, 2}));
}

TEST(PadSequences, TakesSequencesOfVectors) {
  std::vector<Tensor> sequences = {floats({1, 2}, {1, 2}), floats({3, 4, 5, 6}, {2, 2})};
  EXPECT_EQ(utils::pad_sequences(sequences, {.dtype = DType::float32, .padding = "post"}),
            floats({1, 2, 0, 0, 3, 4, 5, 6}, {2, 2, 2}));
}

TEST(PadSequences, SaysWhatIsWrong) {
  std::vector<std::vector<int64_t>> sequences = {{1}};
  EXPECT_THROW(utils::pad_sequences(sequences, {.padding = "before"}), ValueError);
  EXPECT_THROW(utils::pad_sequences(sequences, {.maxlen = -1}), ValueError);
  EXPECT_THROW(utils::pad_sequences({floats({1}, {1}), floats({1}, {1, 1})}), ShapeError);
  EXPECT_EQ(utils::pad_sequences(std::vector<std::vector<int64_t>>{}).shape(), Shape({0, 0}));
}

// --- pictures

Tensor picture(int64_t channels) {
  Tensor out(DType::uint8, {4, 6, channels});
  auto* values = out.data_mut<uint8_t>();
  for (int64_t i = 0; i < out.elements(); ++i) values[i] = uint8_t(10 * i);
  values[0] = 0, values[1] = 255;
  return out;
}

TEST(SaveImg, WritesPngThatIsReadBackExactly) {
  TempDir dir;
  for (auto [channels, mode] :
       {std::pair(1, "grayscale"), std::pair(3, "rgb"), std::pair(4, "rgba")}) {
    utils::save_img(dir / "a.png", picture(channels), {.scale = false});
    EXPECT_EQ(utils::load_img(dir / "a.png", {.color_mode = mode}), picture(channels)) << mode;
  }
}

TEST(SaveImg, ScalesToTheWholeRange) {
  TempDir dir;
  utils::save_img(dir / "a.png", floats({-1, 0, 1, 1}, {2, 2, 1}));
  EXPECT_EQ(utils::load_img(dir / "a.png", {.color_mode = "grayscale"}),
            Tensor::from(std::vector<uint8_t>{0, 127, 255, 255}, {2, 2, 1}));
}

TEST(ArrayToImg, ReachesWhiteWhateverTheRange) {
  for (float high : {0.1F, 0.7F, 3.0F, 1e-3F, 1e9F}) {
    Tensor white = utils::array_to_img(floats({0, high}, {1, 2}));
    EXPECT_EQ(white.max(), 255) << high;
  }
  EXPECT_EQ(utils::array_to_img(floats({4, 4}, {1, 2})).max(), 0);
}

TEST(SaveImg, WritesJpegByTheEnding) {
  TempDir dir;
  utils::save_img(dir / "a.jpg", Tensor::full({8, 8, 3}, 200, DType::uint8), {.scale = false});
  Tensor read = utils::load_img(dir / "a.jpg");
  EXPECT_EQ(read.shape(), Shape({8, 8, 3}));
  EXPECT_NEAR(read.mean(), 200, 2);
  EXPECT_EQ(utils::load_img(dir / "a.jpg", {.color_mode = "rgba"}).shape(), Shape({8, 8, 4}));
}

TEST(SaveImg, SaysWhatItCannotWrite) {
  TempDir dir;
  EXPECT_THROW(utils::save_img(dir / "a.gif", picture(3)), ValueError);
  EXPECT_THROW(utils::save_img(dir / "a.png", floats({1, 2}, {1, 1, 2})), image::ImageError);
  EXPECT_THROW(utils::save_img(dir / "a.png", floats({std::nanf(""), 2}, {1, 2})), ValueError);
  EXPECT_FALSE(std::filesystem::exists(dir / "a.png"));
}

TEST(LoadImg, ResizesAndCutsTheMiddleOut) {
  TempDir dir;
  utils::save_img(dir / "a.png", picture(3), {.scale = false});
  EXPECT_EQ(utils::load_img(dir / "a.png", {.target_size = {2, 3}}).shape(), Shape({2, 3, 3}));
  Tensor middle =
      utils::load_img(dir / "a.png", {.target_size = {4, 4}, .keep_aspect_ratio = true});
  EXPECT_EQ(middle[0][0], picture(3)[0][1]);
  EXPECT_THROW(utils::load_img(dir / "a.png", {.target_size = {2, 0}}), ValueError);
  EXPECT_THROW(utils::load_img(dir / "a.png", {.target_size = {2, 2}, .interpolation = "best"}),
               ValueError);
  EXPECT_THROW(utils::load_img(dir / "a.png", {.color_mode = "cmyk"}), ValueError);
}

TEST(LoadImg, NamesTheFileThatIsNoPicture) {
  TempDir dir;
  write_file_atomically(dir / "a.png", "text");
  try {
    utils::load_img(dir / "a.png");
    FAIL();
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("a.png"), std::string::npos) << error.what();
  }
}

TEST(ImgToArray, GivesFloatsWithChannels) {
  Tensor grey = Tensor::from(std::vector<uint8_t>{1, 2}, {1, 2});
  EXPECT_EQ(utils::img_to_array(grey), floats({1, 2}, {1, 2, 1}));
  EXPECT_THROW(utils::img_to_array(Tensor(1.0F)), ShapeError);
}

// --- folders

std::string wav(const std::vector<int16_t>& samples, uint32_t rate = 8000, uint16_t channels = 1) {
  std::string bytes;
  auto put = [&](uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes += char(value >> (8 * i));
  };
  bytes += "RIFF";
  put(36 + 2 * samples.size(), 4);
  bytes += "WAVEfmt ";
  put(16, 4), put(1, 2), put(channels, 2), put(rate, 4), put(rate * channels * 2, 4);
  put(channels * 2U, 2), put(16, 2);
  bytes += "data";
  put(2 * samples.size(), 4);
  for (int16_t sample : samples) put(uint16_t(sample), 2);
  return bytes;
}

// The same bytes, 00 00 00 80 00 40, as samples of every width.
TEST(Wav, IsReadInEveryWidth) {
  std::string bytes = wav({0, -32768, 16384});
  auto read_as = [&](int format, int bits) {
    std::string changed = bytes;
    changed[20] = char(format), changed[34] = char(bits);
    Wav sound = read_wav(changed);
    std::vector<float> out(size_t(sound.frames));
    decode_wav(sound, sound.frames, out.data());
    return out;
  };
  EXPECT_EQ(read_wav(bytes).sampling_rate, 8000);
  EXPECT_EQ(read_as(1, 16), (std::vector<float>{0, -1, 0.5F}));
  EXPECT_EQ(read_as(1, 8), (std::vector<float>{-1, -1, -1, 0, -1, -0.5F}));
  EXPECT_EQ(read_as(1, 24), (std::vector<float>{0, float(0x400080) / 0x800000}));
  EXPECT_EQ(read_as(1, 32), (std::vector<float>{-1}));
  EXPECT_EQ(read_as(3, 32), (std::vector<float>{0}));  // -0
}

TEST(Wav, WhatIsCutOffIsAnError) {
  std::string bytes = wav({1, 2, 3});
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(read_wav(std::string_view(bytes).substr(0, size)), FileError) << size;
  std::string compressed = bytes;
  compressed[20] = 2;
  EXPECT_THROW(read_wav(compressed), FileError);
}

class Folders : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"cats", "dogs/old"}) std::filesystem::create_directories(dir_ / name);
    for (int i = 0; i < 6; ++i) {
      std::string stem = (i % 2 == 0 ? "cats/" : "dogs/old/") + std::to_string(i);
      utils::save_img(dir_ / (stem + ".png"), Tensor::full({4, 4, 3}, i, DType::uint8),
                      {.scale = false});
      write_file_atomically(dir_ / (stem + ".txt"), "text " + std::to_string(i));
      write_file_atomically(dir_ / (stem + ".wav"),
                            wav(std::vector<int16_t>(size_t(i) + 1, int16_t(16384))));
    }
  }
  std::string path() const { return dir_.path().string(); }
  TempDir dir_;
};

TEST_F(Folders, OfPicturesAreBatchesForFit) {
  auto dataset = utils::image_dataset_from_directory(
      path(), {.batch_size = 4, .image_size = {2, 2}, .shuffle = false});
  std::vector<Batch> batches;
  for (const Batch& batch : dataset) batches.push_back(batch);
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0][0].spec(), (TensorSpec{DType::float32, {4, 2, 2, 3}}));
  EXPECT_EQ(batches[0][1], ids({0, 0, 0, 1}));
  EXPECT_EQ(batches[1][0].at(0), 3);
}

TEST_F(Folders, AreSplitWithoutOverlap) {
  std::set<double> seen;
  for (data::Subset subset : {data::Subset::training, data::Subset::validation}) {
    auto dataset = utils::image_dataset_from_directory(path(), {.batch_size = 0,
                                                                .image_size = {1, 1},
                                                                .seed = 3,
                                                                .validation_split = 0.34,
                                                                .subset = subset});
    for (const Batch& element : dataset) EXPECT_TRUE(seen.insert(element[0].at(0)).second);
  }
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_THROW(utils::image_dataset_from_directory(path(), {.validation_split = 0.5}), ValueError);
}

TEST_F(Folders, HaveLabelsAsAsked) {
  auto labels = [&](const std::string& mode) {
    auto dataset =
        utils::text_dataset_from_directory(path(), {.label_mode = mode, .shuffle = false});
    return *dataset.begin();
  };
  EXPECT_EQ(labels("categorical")[1].spec(), (TensorSpec{DType::float32, {6, 2}}));
  EXPECT_EQ(labels("binary")[1].spec(), (TensorSpec{DType::float32, {6}}));
  EXPECT_EQ(labels("").size(), 1U);
  EXPECT_THROW(labels("one"), ValueError);
}

TEST_F(Folders, OfSoundsAreCutOrPadded) {
  auto fixed = utils::audio_dataset_from_directory(
      path(), {.sampling_rate = 8000, .output_sequence_length = 3, .shuffle = false});
  Batch batch = *fixed.begin();
  EXPECT_EQ(batch[0].spec(), (TensorSpec{DType::float32, {6, 3, 1}}));
  EXPECT_EQ(batch[0][0].reshape({3}), floats({0.5F, 0, 0}, {3}));
  auto longest = utils::audio_dataset_from_directory(path(), {.shuffle = false});
  EXPECT_EQ((*longest.begin())[0].shape(), Shape({6, 6, 1}));
  auto other = utils::audio_dataset_from_directory(path(), {.sampling_rate = 16000});
  EXPECT_THROW(other.begin(), Error);
}

}  // namespace
}  // namespace stoker::test
