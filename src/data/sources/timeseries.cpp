// Windows over arrays: a chain of slices, windows, targets, shuffle and batch.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/text.h>

namespace stoker::data {

namespace {

struct Rows {
  int64_t begin, end;
};

Rows checked_rows(const Tensor& series, int64_t length, const TimeseriesOptions& options) {
  if (!series.defined() || series.shape().rank() == 0)
    throw ShapeError("timeseries_windows: the series has no rows");
  int64_t rows = series.shape()[0];
  auto check = [&](const char* name, int64_t value, int64_t low, int64_t high) {
    if (value < low || value > high)
      throw ValueError(
          fmt::format("timeseries_windows: {} is {}, expected {} to {} for a series of {} rows",
                      name, value, low, high, rows));
  };
  check("sequence_length", length, 1, rows);
  check("sequence_stride", options.sequence_stride, 1, std::max<int64_t>(rows - 1, 1));
  check("sampling_rate", options.sampling_rate, 1, std::max<int64_t>(rows - 1, 1));
  int64_t begin = options.start_index.value_or(0);
  check("start_index", begin, 0, rows - 1);
  int64_t end = options.end_index.value_or(rows);
  check("end_index", end, begin + 1, rows);
  if (options.batch_size < 0)
    throw ValueError(fmt::format(
        "timeseries_windows: batch_size is {}, expected at least 1, or 0 for single windows",
        options.batch_size));
  if (options.seed && !options.shuffle)
    throw ValueError("timeseries_windows: seed is set, but shuffle is not: it has no effect");
  return {begin, end};
}

Dataset windows_of(const Tensor& series, Rows rows, int64_t length,
                   const TimeseriesOptions& options) {
  return from_slices(series.slice(rows.begin, rows.end))
      .window(length, {.shift = options.sequence_stride,
                       .stride = options.sampling_rate,
                       .drop_remainder = true});
}

Dataset finished(Dataset windows, const TimeseriesOptions& options) {
  if (options.shuffle) windows = windows.shuffle({.seed = options.seed});
  return options.batch_size > 0 ? windows.batch(options.batch_size) : windows;
}

}  // namespace

Dataset timeseries_windows(const Tensor& series, int64_t sequence_length,
                           const TimeseriesOptions& options) {
  Rows rows = checked_rows(series, sequence_length, options);
  return finished(windows_of(series, rows, sequence_length, options), options);
}

Dataset timeseries_windows(const Tensor& series, const Tensor& targets, int64_t sequence_length,
                           const TimeseriesOptions& options) {
  Rows rows = checked_rows(series, sequence_length, options);
  if (!targets.defined() || targets.shape().rank() == 0 || targets.shape()[0] <= rows.begin)
    throw ShapeError(fmt::format(
        "timeseries_windows: the targets are {}, which has no row {}; each window needs one",
        targets.defined() ? to_string(targets.spec()) : "undefined", rows.begin));
  Dataset windows = windows_of(series, rows, sequence_length, options);
  // A window without a target is left out: zip ends with the shorter side.
  Dataset answers = from_slices(targets.slice(rows.begin, std::min(rows.end, targets.shape()[0])));
  if (options.sequence_stride > 1) answers = answers.shard(options.sequence_stride, 0);
  return finished(zip({windows, answers}), options);
}

}  // namespace stoker::data
