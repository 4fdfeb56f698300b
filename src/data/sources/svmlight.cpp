// Lines of svmlight files: records of files, and a function that makes dense rows of them.
#include <stoker/svmlight.h>

#include <algorithm>

#include <fmt/format.h>

#include "data/sources/csv_records.h"
#include "data/sources/files.h"
#include "formats/svmlight.h"

namespace stoker::data {

namespace {

// 64 MiB per row. A larger index in a file is rather damage, or a hash that a row cannot hold.
constexpr int64_t kMostFeatures = int64_t(1) << 24;

CsvReadOptions reading_lines(const SvmlightOptions& options) {
  return {.format = {.delimiter = ' ', .quote = '\0', .comment = '#'},
          .most_record_bytes = uint64_t(options.max_line_bytes)};
}

void check_svmlight(const SvmlightOptions& options) {
  auto fail = [](const std::string& what) { throw ValueError("svmlight: " + what); };
  if (options.num_features && (*options.num_features < 1 || *options.num_features > kMostFeatures))
    fail(fmt::format("num_features is {}, expected 1 to {}", *options.num_features, kMostFeatures));
  if (options.max_line_bytes < 1)
    fail(fmt::format("max_line_bytes is {}, expected at least 1", options.max_line_bytes));
  if (options.label_dtype && *options.label_dtype != DType::int64 &&
      *options.label_dtype != DType::float32)
    fail(fmt::format("label_dtype is {}, expected int64 or float32", name(*options.label_dtype)));
}

// What the lines hold; those that cannot be read are errors of their elements later.
class Scan {
 public:
  void look_at(std::string_view text) {
    try {
      SvmlightLine line(text);
      whole_ = whole_ && line.whole_label().has_value();
      while (auto entry = line.next()) {
        zero_ = zero_ || entry->index == 0;
        largest_ = std::max(largest_, entry->index);
      }
    } catch (const ValueError&) {
    }
  }

  SvmlightLayout layout(const SvmlightOptions& options) const {
    bool zero_based = options.zero_based.value_or(zero_);
    int64_t found = largest_ + (zero_based ? 1 : 0);
    if (!options.num_features && found < 1)
      throw ValueError("svmlight: the files hold no values; give num_features");
    if (!options.num_features && found > kMostFeatures)
      throw ValueError(
          fmt::format("svmlight: index {} makes rows of more than {} numbers; give num_features, "
                      "and leave such lines out with on_error()",
                      largest_, kMostFeatures));
    return {.num_features = options.num_features.value_or(found),
            .zero_based = zero_based,
            .label_dtype = options.label_dtype.value_or(whole_ ? DType::int64 : DType::float32)};
  }

 private:
  int64_t largest_ = -1;
  bool zero_ = false, whole_ = true;
};

SvmlightLayout layout_of(const std::vector<std::string>& paths, const SvmlightOptions& options,
                         FileSystem& files) {
  check_svmlight(options);
  Scan scan;
  bool all_given = options.num_features && options.zero_based && options.label_dtype;
  if (!all_given)
    for (const std::string& path : paths) {
      auto file = files.open(path);
      CsvReader reader(*file, reading_lines(options));
      while (auto line = reader.next()) scan.look_at(*line);
    }
  return scan.layout(options);
}

class SvmlightDecoder final : public ElementFunction {
 public:
  explicit SvmlightDecoder(const SvmlightLayout& layout) : layout_(layout) {}

  std::string name() const override { return "decode_svmlight"; }
  std::string identity() const override {
    return fmt::format("decode_svmlight {} {} {}", layout_.num_features,
                       layout_.zero_based ? "from 0" : "from 1", stoker::name(layout_.label_dtype));
  }

  ElementSpec infer(const ElementSpec&) const override {
    return {{DType::float32, {layout_.num_features}}, {layout_.label_dtype, {}}};
  }

  void apply(std::span<const ConstTensorView> in, ElementWriter& out, Rng&) const override {
    SvmlightLine line(*static_cast<const std::string*>(in[0].data));
    auto* row = static_cast<float*>(out.put(0, DType::float32, {layout_.num_features}));
    std::fill_n(row, layout_.num_features, 0.0F);
    while (auto entry = line.next()) row[place_of(entry->index)] = entry->value;
    put_label(line, out.put(1, layout_.label_dtype, {}));
  }

 private:
  int64_t place_of(int64_t index) const {
    int64_t place = index - (layout_.zero_based ? 0 : 1);
    if (place < 0) throw ValueError("index 0, but indices count from 1; give zero_based = true");
    if (place >= layout_.num_features)
      throw ValueError(
          fmt::format("index {} is behind the last of {} features, which count from {}; give a "
                      "larger num_features",
                      index, layout_.num_features, layout_.zero_based ? 0 : 1));
    return place;
  }

  void put_label(const SvmlightLine& line, void* place) const {
    if (layout_.label_dtype == DType::float32) {
      *static_cast<float*>(place) = line.label();
      return;
    }
    auto whole = line.whole_label();
    if (!whole)
      throw ValueError(
          fmt::format("the label is {}, expected a whole number; give label_dtype = DType::float32",
                      line.label()));
    *static_cast<int64_t*>(place) = *whole;
  }

  SvmlightLayout layout_;
};

}  // namespace

Dataset svmlight(const std::vector<std::string>& paths, const SvmlightOptions& options,
                 FileSystem& files) {
  std::vector<std::string> all = matching_files("svmlight", paths, files);
  auto decoder = std::make_shared<SvmlightDecoder>(layout_of(all, options, files));
  return record_files(std::move(all),
                      csv_records("svmlight", "", reading_lines(options), options.index), files)
      .map(std::move(decoder));
}

Dataset svmlight(const std::vector<std::string>& paths, const SvmlightOptions& options) {
  return svmlight(paths, options, local_files());
}

Dataset svmlight(std::initializer_list<std::string> paths, const SvmlightOptions& options) {
  return svmlight(std::vector<std::string>(paths), options);
}

Dataset svmlight(const std::string& path, const SvmlightOptions& options) {
  return svmlight(std::vector<std::string>{path}, options);
}

SvmlightLayout svmlight_layout(const std::vector<std::string>& paths,
                               const SvmlightOptions& options) {
  return layout_of(matching_files("svmlight", paths, local_files()), options, local_files());
}

SvmlightLayout svmlight_layout(const std::string& path, const SvmlightOptions& options) {
  return svmlight_layout(std::vector<std::string>{path}, options);
}

}  // namespace stoker::data
