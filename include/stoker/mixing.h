// More places where elements come from, by tf.data's names: mixtures of datasets, parts of one, and
// small sources.
//
//   auto train = data::sample_from_datasets({common, rare}, {.weights = {0.8, 0.2}});
//   auto [left, right] = data::split_dataset(examples, {.left_size = 0.8, .shuffle = true});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <stoker/dataset.h>

namespace stoker::data {

struct SampleOptions {
  std::vector<double> weights = {};   // one per dataset, of any sum; none: equal
  std::optional<uint64_t> seed = {};  // none: follows the dataset's
  // True: ends when a dataset that has ended is drawn. False: draws among the others.
  bool stop_on_empty_dataset = false;
  bool rerandomize_each_iteration = true;  // another order every epoch
};
// Elements of datasets with the same components, drawn one by one.
Dataset sample_from_datasets(const std::vector<Dataset>& datasets,
                             const SampleOptions& options = {});

struct ChooseOptions {
  // True: ends when a dataset that has ended is chosen. False: passes over the choice.
  bool stop_on_empty_dataset = true;
};
// The same where `choices`, elements int64[], say from which dataset the next element comes.
Dataset choose_from_datasets(const std::vector<Dataset>& datasets, const Dataset& choices,
                             const ChooseOptions& options = {});

struct SplitOptions {
  // A share of the elements (0.8) or a number of them (1000). One of the two may be left out.
  std::optional<std::variant<int64_t, double>> left_size = {}, right_size = {};
  bool shuffle = false;  // draws who goes where, the same for the same seed; needs random access
  uint64_t seed = 0;
};
// Two parts of a dataset whose number of elements is known, as keras.utils.split_dataset.
std::pair<Dataset, Dataset> split_dataset(const Dataset& dataset, const SplitOptions& options);

// files() under tf.data's name: paths that match, sorted; shuffle() draws another order.
inline Dataset list_files(const std::string& pattern) { return files(pattern); }

// start, start + step, … without end, as int64[].
Dataset counter(int64_t start = 0, int64_t step = 1);

struct RandomOptions {
  std::optional<uint64_t> seed = {};        // none: follows the dataset's
  bool rerandomize_each_iteration = false;  // other numbers every epoch
};
// Whole numbers in [0, 2³²) without end, as int64[].
Dataset random(const RandomOptions& options = {});

// Elements that may differ in shape.
Dataset from_list(std::vector<Batch> elements);

struct FixedLengthOptions {
  int64_t header_bytes = 0, footer_bytes = 0;  // of every file, passed over
};
// Records of `record_bytes` each, of files one after the other, as bytes[].
Dataset fixed_length_records(const std::vector<std::string>& paths, int64_t record_bytes,
                             const FixedLengthOptions& options = {});

}  // namespace stoker::data
