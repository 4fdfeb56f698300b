#include "train/model/input_advice.h"

#include <algorithm>

#include <fmt/format.h>

namespace stoker {

namespace {

bool is_sample(const Shape& given, const Shape& row) {
  if (given == row) return true;
  return given.rank() + 1 == row.rank() && row[-1] == 1 &&
         std::equal(given.begin(), given.end(), row.begin());
}

// [B, C, H, W] for [H, W, C].
bool is_channels_first(const Shape& given, const Shape& row) {
  return given.rank() == 4 && row.rank() == 3 && given[1] == row[2] && given[2] == row[0] &&
         given[3] == row[1];
}

bool lacks_channels(const Shape& given, const Shape& row) {
  return given.rank() == 3 && row.rank() == 3 && given[1] == row[0] && given[2] == row[1];
}

// Sequences or images of another length, but with the same features.
bool differs_in_length(const Shape& given, const Shape& row) {
  return given.rank() == row.rank() + 1 && row.rank() < 4 && given[-1] == row[-1] &&
         given.drop_front() != row;
}

std::string with_unknown_lengths(const Shape& row) {
  std::string text;
  for (int axis = 0; axis + 1 < row.rank(); ++axis) text += "-1, ";
  return text + std::to_string(row[-1]);
}

bool has_as_many(const Shape& given, const Shape& row) {
  return given.rank() > 1 && given.is_known() && row.is_known() &&
         given.drop_front().elements() == row.elements();
}

}  // namespace

std::string input_advice(const Shape& given, const Shape& row) {
  if (is_sample(given, row)) return fmt::format("; {}", kBatchAdvice);
  if (given.rank() == row.rank() + 2 && given.drop_front(2) == row)
    return "; this is a batch of batches: call batch() once";
  if (is_channels_first(given, row))
    return "; the channels come first here: transpose to [B, H, W, C]";
  if (lacks_channels(given, row))
    return fmt::format("; the channels are missing: the model takes {} per pixel", row[2]);
  if (has_as_many(given, row))
    return fmt::format("; reshape it to {}, or begin the model with Input of its shape and Reshape",
                       to_string(row.prepend(given[0])));
  if (row.rank() == 1 && given.rank() == 2)
    return "; for sequences whose length varies, begin the model with Input({-1})";
  if (differs_in_length(given, row))
    return fmt::format("; for lengths that vary, begin the model with Input({{{}}})",
                       with_unknown_lengths(row));
  return "";
}

}  // namespace stoker
