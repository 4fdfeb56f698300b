// image_, text_ and audio_dataset_from_directory.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <stoker/image.h>
#include <stoker/utils.h>

#include "data/sources/files.h"
#include "data/sources/labelled_files.h"
#include "data/utils/pictures.h"
#include "formats/wav.h"

namespace stoker::utils {

namespace {

using data::Dataset;
using data::ElementSpec;

// Keeps component 0.
class DataOnly final : public data::ElementFunction {
 public:
  std::string name() const override { return "without labels"; }
  std::string identity() const override { return name(); }
  ElementSpec infer(const ElementSpec& in) const override { return {in[0]}; }
  void apply(std::span<const ConstTensorView> in, data::ElementWriter& out, Rng&) const override {
    out.copy(0, in[0]);
  }
};

// Samples [T, channels] of an encoded sound; labels pass.
class DecodeWav final : public data::ElementFunction {
 public:
  DecodeWav(int64_t rate, int64_t length) : rate_(rate), length_(length) {}
  std::string name() const override { return "decode_wav"; }
  std::string identity() const override {
    return fmt::format("decode_wav, rate {}, length {}", rate_, length_);
  }
  ElementSpec infer(const ElementSpec& in) const override {
    return {{DType::float32, {length_ > 0 ? length_ : -1, -1}}, in[1]};
  }
  void apply(std::span<const ConstTensorView> in, data::ElementWriter& out, Rng&) const override {
    Wav wav = read_wav(*static_cast<const std::string*>(in[0].data));
    if (rate_ > 0 && wav.sampling_rate != rate_)
      throw FileError(fmt::format(
          "WAV: {} samples per second, expected .sampling_rate = {}; nothing is resampled",
          wav.sampling_rate, rate_));
    int64_t length = length_ > 0 ? length_ : wav.frames;
    auto* samples = static_cast<float*>(out.put(0, DType::float32, {length, wav.channels}));
    std::fill_n(samples, length * wav.channels, 0.0F);
    decode_wav(wav, length, samples);
    out.copy(1, in[1]);
  }

 private:
  int64_t rate_, length_;
};

template <class Options>
data::Split split_of(const Options& options) {
  return {options.validation_split, options.subset, options.seed.value_or(0)};
}

template <class Options>
Dataset shuffled(const Dataset& files, const Options& options) {
  return options.shuffle ? files.shuffle({.seed = options.seed}) : files;
}

Dataset labelled(const char* who, const Dataset& dataset, const std::string& mode,
                 int64_t classes) {
  if (mode == "int") return dataset;
  if (mode.empty()) return dataset.map(data::FunctionRef(std::make_shared<DataOnly>()));
  if (mode == "categorical") return dataset.map(1, image::one_hot(classes));
  if (mode != "binary")
    throw ValueError(fmt::format(
        "{}: expected label_mode \"int\", \"categorical\", \"binary\" or \"\", got \"{}\"", who,
        mode));
  if (classes != 2)
    throw ValueError(
        fmt::format("{}: label_mode \"binary\" is for 2 classes, got {}", who, classes));
  return dataset.map(1, image::cast(DType::float32));
}

void check_batch(const char* who, int64_t size) {
  if (size < 0)
    throw ValueError(fmt::format("{}: expected batch_size of 0 or more, got {}", who, size));
}

int64_t class_count(const std::string& directory, const std::vector<std::string>& names) {
  return int64_t(names.empty() ? data::class_names(directory).size() : names.size());
}

}  // namespace

Dataset image_dataset_from_directory(const std::string& directory,
                                     const ImageDatasetOptions& options) {
  constexpr const char* kWho = "image_dataset_from_directory";
  check_batch(kWho, options.batch_size);
  bool grey = options.color_mode == "grayscale";
  if (!grey && options.color_mode != "rgb")
    throw ValueError(fmt::format("{}: expected color_mode \"rgb\" or \"grayscale\", got \"{}\"",
                                 kWho, options.color_mode));
  image::Op decode = image::decode_image({.channels = grey ? 1 : 3}) |
                     image::resize(options.image_size[0], options.image_size[1],
                                   {.method = resize_method(kWho, options.interpolation)}) |
                     image::cast(DType::float32);
  Dataset files = data::labelled_folder({.kind = "image_folder",
                                         .what = "images",
                                         .extensions = {".jpg", ".jpeg", ".png"},
                                         .class_names = options.class_names,
                                         .split = split_of(options)},
                                        directory, local_files());
  Dataset pictures = labelled(kWho, shuffled(files, options).map(decode), options.label_mode,
                              class_count(directory, options.class_names));
  return options.batch_size > 0 ? pictures.batch(options.batch_size) : pictures;
}

Dataset text_dataset_from_directory(const std::string& directory,
                                    const TextDatasetOptions& options) {
  constexpr const char* kWho = "text_dataset_from_directory";
  check_batch(kWho, options.batch_size);
  Dataset files = data::text_folder(directory, {.class_names = options.class_names,
                                                .max_length = options.max_length,
                                                .validation_split = options.validation_split,
                                                .subset = options.subset,
                                                .seed = options.seed.value_or(0)});
  Dataset texts = labelled(kWho, shuffled(files, options), options.label_mode,
                           class_count(directory, options.class_names));
  return options.batch_size > 0 ? texts.batch(options.batch_size) : texts;
}

Dataset audio_dataset_from_directory(const std::string& directory,
                                     const AudioDatasetOptions& options) {
  constexpr const char* kWho = "audio_dataset_from_directory";
  check_batch(kWho, options.batch_size);
  if (options.sampling_rate < 0 || options.output_sequence_length < 0)
    throw ValueError(fmt::format(
        "{}: expected sampling_rate and output_sequence_length of 0 or more, got {} and {}", kWho,
        options.sampling_rate, options.output_sequence_length));
  Dataset files = data::labelled_folder({.kind = "audio_folder",
                                         .what = "sounds",
                                         .extensions = {".wav"},
                                         .class_names = options.class_names,
                                         .split = split_of(options)},
                                        directory, local_files());
  auto decode = std::make_shared<DecodeWav>(options.sampling_rate, options.output_sequence_length);
  Dataset sounds = labelled(kWho, shuffled(files, options).map(data::FunctionRef(decode)),
                            options.label_mode, class_count(directory, options.class_names));
  if (options.batch_size == 0) return sounds;
  if (options.output_sequence_length > 0) return sounds.batch(options.batch_size);
  return sounds.padded_batch(options.batch_size);
}

}  // namespace stoker::utils
