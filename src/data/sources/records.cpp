// Elements from record files: IDX, TFRecord, and the tf.train.Example messages in them.
#include <fmt/format.h>

#include "data/sources/files.h"
#include "data/sources/record_files.h"
#include "formats/idx.h"
#include "formats/tensor_checksum.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"

namespace stoker::data {

namespace {

class TFRecords final : public RecordReader {
 public:
  TFRecords(FileReader& file, const TFRecordOptions& options) : reader_(file, options) {}
  std::optional<std::string_view> next() override {
    std::optional<TFRecord> record = reader_.next();
    if (!record) return {};
    return std::string_view(reinterpret_cast<const char*>(record->bytes.data()),
                            record->bytes.size());
  }
  bool can_go_on() const override { return reader_.can_go_on(); }

 private:
  TFRecordReader reader_;
};

class ParseExample final : public ElementFunction {
 public:
  explicit ParseExample(std::vector<Feature> features) : features_(std::move(features)) {
    for (const Feature& feature : features_) check(feature);
  }
  std::string name() const override { return "parse_example"; }
  std::string identity() const override {
    std::string text = name();
    for (const Feature& feature : features_)
      text += fmt::format(" {} {}{}", feature.name, to_string(feature.spec),
                          feature.fallback ? " or " + checksum_line(*feature.fallback) : "");
    return text;
  }

  ElementSpec infer(const ElementSpec& in) const override {
    if (in.size() != 1 || !(in[0] == TensorSpec{DType::bytes, {}}))
      throw ShapeError(fmt::format("parse_example takes records, (bytes[]), but elements are {}",
                                   to_string(in)));
    ElementSpec spec;
    for (const Feature& feature : features_) spec.push_back(feature.spec);
    return spec;
  }

  void apply(std::span<const ConstTensorView> in, ElementWriter& out, Rng&) const override {
    thread_local Example example;
    const auto& record = *static_cast<const std::string*>(in[0].data);
    example.parse(std::as_bytes(std::span(record)), "tf.train.Example");
    for (size_t i = 0; i < features_.size(); ++i) write(example, features_[i], i, out);
  }

 private:
  static void check(const Feature& feature) {
    DType dtype = feature.spec.dtype;
    if (dtype != DType::bytes && dtype != DType::float32 && dtype != DType::int64)
      throw ShapeError(
          fmt::format("parse_example: feature \"{}\" is asked for as {}; an Example "
                      "holds bytes, float32 and int64 (a map can cast)",
                      feature.name, stoker::name(dtype)));
    int unknown = 0;
    for (int64_t extent : feature.spec.shape) unknown += extent < 0 ? 1 : 0;
    if (unknown > 1)
      throw ShapeError(
          fmt::format("parse_example: feature \"{}\" has {} unknown dimensions, at most "
                      "one can be found from the number of values",
                      feature.name, unknown));
    if (feature.fallback && feature.fallback->dtype() != dtype)
      throw ShapeError(fmt::format("parse_example: the default of feature \"{}\" is {}, not {}",
                                   feature.name, stoker::name(feature.fallback->dtype()),
                                   stoker::name(dtype)));
  }

  static Shape shape_for(const Feature& feature, size_t count) {
    Shape shape = feature.spec.shape;
    int64_t known = 1, unknown = -1;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] < 0)
        unknown = axis;
      else
        known *= shape[axis];
    }
    if (unknown >= 0 && known > 0 && int64_t(count) % known == 0)
      shape.set(int(unknown), int64_t(count) / known);
    else if (unknown >= 0 || known != int64_t(count))
      throw ShapeError(fmt::format("feature \"{}\" has {} values, which do not fill {}",
                                   feature.name, count, to_string(feature.spec)));
    return shape;
  }

  static void write(const Example& example, const Feature& feature, size_t index,
                    ElementWriter& out) {
    const ExampleFeature* found = example.find(feature.name);
    if (found == nullptr || found->count == 0) {
      if (feature.fallback) return out.copy(index, *feature.fallback);
      if (found == nullptr)
        throw ValueError(fmt::format("there is no feature \"{}\"; there are {}", feature.name,
                                     names_of(example)));
    }
    Shape shape = shape_for(feature, found->count);
    void* place = out.put(index, feature.spec.dtype, shape);
    if (feature.spec.dtype == DType::float32) {
      found->read(std::span(static_cast<float*>(place), found->count));
    } else if (feature.spec.dtype == DType::int64) {
      found->read(std::span(static_cast<int64_t*>(place), found->count));
    } else {
      std::vector<std::string_view> texts(found->count);
      found->read(std::span(texts));
      std::copy(texts.begin(), texts.end(), static_cast<std::string*>(place));
    }
  }

  static std::string names_of(const Example& example) {
    std::string names;
    for (const ExampleFeature& feature : example.features())
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", feature.name);
    return names.empty() ? "none" : names;
  }

  std::vector<Feature> features_;
};

}  // namespace

Dataset tfrecord(const std::vector<std::string>& paths, const TfRecordOptions& options,
                 FileSystem& files) {
  TFRecordOptions reading{.check_data = options.check_crc};
  return record_files(
      paths,
      {.kind = "tfrecord",
       .read = [reading](FileReader& file) { return std::make_unique<TFRecords>(file, reading); }},
      files);
}

Dataset tfrecord(const std::vector<std::string>& paths, const TfRecordOptions& options) {
  return tfrecord(paths, options, local_files());
}

FunctionRef parse_example(std::vector<Feature> features) {
  if (features.empty()) throw ValueError("parse_example: no features were given");
  return std::make_shared<ParseExample>(std::move(features));
}

Dataset idx(const std::vector<std::string>& paths, FileSystem& files) {
  if (paths.empty()) throw ValueError("idx: no files were given");
  std::vector<Tensor> columns;
  for (const std::string& path : paths) columns.push_back(read_idx(path, files));
  return from_slices(std::move(columns));
}

Dataset idx(const std::vector<std::string>& paths) { return idx(paths, local_files()); }

}  // namespace stoker::data
