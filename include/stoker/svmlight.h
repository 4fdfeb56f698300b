// Sparse rows in text files as training data: the format of svmlight, LIBSVM, XGBoost, LightGBM and
// scikit-learn's load_svmlight_file.
//
//   +1 3:0.5 17:1        # LABEL INDEX:VALUE …, every other value is 0
//
//   auto train = data::svmlight("a9a").shuffle().batch(128);                  // (float32[B, 123], int64[B])
//   auto test = data::svmlight("a9a.t", {.num_features = 123}).batch(128);    // its last feature is rare
//
// Files are plain or gzip. Elements are dense rows (float32[num_features]) with their label. A line
// that does not fit is an error of its element with file and line, which on_error() can leave out.
// docs/formats/svmlight.md has the details.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <stoker/dataset.h>

namespace stoker::data {

struct SvmlightOptions {
  std::optional<int64_t> num_features = {};  // per row; none: as many as the largest index needs
  // Whether the first feature has index 0; none: only if index 0 occurs.
  std::optional<bool> zero_based = {};
  std::optional<DType> label_dtype = {};  // int64 or float32; none: int64 if all labels are whole
  int64_t max_line_bytes = int64_t(1) << 26;  // a longer line is an error
  // True: plain files give random access (exact shuffle, known length, resume at once). False, and
  // whenever a file is gzip: a stream.
  bool index = true;
};

// What the elements of svmlight() are.
struct SvmlightLayout {
  int64_t num_features = 0;
  bool zero_based = false;
  DType label_dtype = DType::int64;
};

// The lines of files one after the other as (float32[num_features], label). A path may be a pattern:
// "part-*.svm". What the options leave open is found by reading the files once.
Dataset svmlight(const std::string& path, const SvmlightOptions& options = {});
Dataset svmlight(const std::vector<std::string>& paths, const SvmlightOptions& options = {});
Dataset svmlight(std::initializer_list<std::string> paths, const SvmlightOptions& options = {});

SvmlightLayout svmlight_layout(const std::string& path, const SvmlightOptions& options = {});
SvmlightLayout svmlight_layout(const std::vector<std::string>& paths,
                               const SvmlightOptions& options = {});

}  // namespace stoker::data
