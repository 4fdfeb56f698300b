// keras.utils for data: arrays, pictures in files, and datasets from a folder per class. Names,
// order of options and defaults are Keras's.
//
//   Tensor y = utils::to_categorical(labels, 10);
//   Tensor x = utils::img_to_array(utils::load_img("cat.jpg", {.target_size = {224, 224}}));
//   auto train = utils::image_dataset_from_directory("photos", {.image_size = {160, 160}});
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <stoker/dataset.h>
#include <stoker/tensor.h>
#include <stoker/text.h>

namespace stoker::utils {

// --- arrays -------------------------------------------------------------------------------------

// Class ids [..] or [.., 1] as float32 [.., num_classes], one-hot; 0: as many as the largest id asks
// for. ValueError for an id outside of them.
Tensor to_categorical(const Tensor& classes, int64_t num_classes = 0);

// x over its norm along `axis`, as float32; vectors of zeros stay. order: 1, 2, … or infinity.
Tensor normalize(const Tensor& x, int axis = -1, double order = 2);

struct PadSequencesOptions {
  std::optional<int64_t> maxlen = {};  // none: the longest
  DType dtype = DType::int32;
  std::string padding = "pre";     // or "post": where the padding goes
  std::string truncating = "pre";  // or "post": where longer ones are cut
  double value = 0;
};
// Sequences of different lengths as one tensor [sequences, maxlen]; of tensors [T, ..] as
// [sequences, maxlen, ..].
Tensor pad_sequences(const std::vector<std::vector<int64_t>>& sequences,
                     const PadSequencesOptions& options = {});
Tensor pad_sequences(const std::vector<Tensor>& sequences, const PadSequencesOptions& options = {});

// --- pictures: PNG and JPEG ---------------------------------------------------------------------

struct LoadImgOptions {
  std::string color_mode = "rgb";               // "grayscale", "rgb", "rgba"
  std::array<int64_t, 2> target_size = {0, 0};  // {height, width}; 0: as in the file
  std::string interpolation = "nearest";        // "bilinear", "area"
  bool keep_aspect_ratio = false;  // cuts the middle out instead of distorting the picture
};
// uint8 [height, width, channels]. FileError names the file.
Tensor load_img(const std::string& path, const LoadImgOptions& options = {});

// A picture [height, width] or [height, width, channels] as an array of this dtype.
Tensor img_to_array(const Tensor& img, DType dtype = DType::float32);

// uint8 of an array. scale: what is smallest becomes 0, what is largest 255; else values are cast.
struct ArrayToImgOptions {
  bool scale = true;
};
Tensor array_to_img(const Tensor& x, const ArrayToImgOptions& options = {});

struct SaveImgOptions {
  std::string file_format = "";  // "png", "jpeg"; "": by the path's ending
  bool scale = true;             // as array_to_img
  int quality = 95;              // of JPEG
};
// An array [height, width, 1, 3 or 4] (JPEG: 1 or 3), atomically.
void save_img(const std::string& path, const Tensor& x, const SaveImgOptions& options = {});

// --- a folder per class -------------------------------------------------------------------------

// Files in subfolders count. Classes are the names of the folders, sorted (data::class_names).
// Elements are (data, label), shuffled anew every epoch and batched: ready for fit. Labels are
// int64[] ("int"), float32[classes] ("categorical"), float32[] of two classes ("binary") or left out
// (""). The split is the same for both subsets while the seed is.

struct ImageDatasetOptions {
  std::string label_mode = "int";
  std::vector<std::string> class_names = {};  // in the order of labels
  std::string color_mode = "rgb";             // or "grayscale"
  int64_t batch_size = 32;                    // 0: single elements
  std::array<int64_t, 2> image_size = {256, 256};
  bool shuffle = true;
  std::optional<uint64_t> seed = {};
  double validation_split = 0;
  data::Subset subset = data::Subset::all;
  std::string interpolation = "bilinear";  // "nearest", "area"
};
// JPEG and PNG as float32 [B, height, width, channels], 0 … 255.
data::Dataset image_dataset_from_directory(const std::string& directory,
                                           const ImageDatasetOptions& options = {});

struct TextDatasetOptions {
  std::string label_mode = "int";
  std::vector<std::string> class_names = {};
  int64_t batch_size = 32;
  std::optional<int64_t> max_length = {};  // bytes of a text that are kept
  bool shuffle = true;
  std::optional<uint64_t> seed = {};
  double validation_split = 0;
  data::Subset subset = data::Subset::all;
};
// Files *.txt as bytes [B].
data::Dataset text_dataset_from_directory(const std::string& directory,
                                          const TextDatasetOptions& options = {});

struct AudioDatasetOptions {
  std::string label_mode = "int";
  std::vector<std::string> class_names = {};
  int64_t batch_size = 32;
  int64_t sampling_rate = 0;           // 0: any; else every file must have it
  int64_t output_sequence_length = 0;  // samples, cut or padded by 0; 0: padded within a batch
  bool shuffle = true;
  std::optional<uint64_t> seed = {};
  double validation_split = 0;
  data::Subset subset = data::Subset::all;
};
// Files *.wav (PCM of 8 to 32 bits, float) as float32 [B, samples, channels], -1 … 1.
data::Dataset audio_dataset_from_directory(const std::string& directory,
                                           const AudioDatasetOptions& options = {});

// data::timeseries_windows under Keras's name.
inline data::Dataset timeseries_dataset_from_array(const Tensor& series, const Tensor& targets,
                                                   int64_t sequence_length,
                                                   const data::TimeseriesOptions& options = {}) {
  return data::timeseries_windows(series, targets, sequence_length, options);
}
inline data::Dataset timeseries_dataset_from_array(const Tensor& series, int64_t sequence_length,
                                                   const data::TimeseriesOptions& options = {}) {
  return data::timeseries_windows(series, sequence_length, options);
}

}  // namespace stoker::utils
