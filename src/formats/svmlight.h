// A line of svmlight's format, which LIBSVM, XGBoost, LightGBM and scikit-learn share:
//   LABEL [qid:NUMBER] INDEX:VALUE INDEX:VALUE … [# text]
// Only values other than 0 are listed, by ascending indices. Lines are records of formats/csv.h with
// the comment '#' and no quotes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker {

struct SvmlightEntry {
  int64_t index = 0;
  float value = 0;
};

// Walks over a line, which must outlive it. ValueError for text that is not of the format.
class SvmlightLine {
 public:
  explicit SvmlightLine(std::string_view line);

  float label() const;
  std::optional<int64_t> whole_label() const;  // none: the label is a fraction, or too large

  // The next value, none behind the last one. A query's number is passed over.
  std::optional<SvmlightEntry> next();

 private:
  std::string_view next_word();

  std::string_view label_;
  const char* at_;
  const char* end_;
  int64_t last_ = -1;  // index
};

}  // namespace stoker
