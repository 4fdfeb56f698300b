// Elements from record files: IDX, TFRecord, and the tf.train.Example messages in them.
#include <fmt/format.h>

#include "data/identity.h"
#include "data/node.h"
#include "data/runtime/addresses.h"
#include "data/runtime/planning.h"
#include "data/sources/files.h"
#include "formats/idx.h"
#include "formats/tensor_checksum.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"

namespace stoker::data {

namespace {

class RecordTickets final : public Tickets {
 public:
  RecordTickets(std::vector<std::string> paths, TfRecordOptions options, FileSystem& files)
      : paths_(std::move(paths)), options_(options), files_(files) {}

  void begin(int64_t epoch) override {
    epoch_ = epoch;
    index_ = 0;
    next_path_ = 0;
    reader_.reset();
  }
  // A record whose bytes are damaged is one bad element, and the next record follows. A file whose
  // framing is broken is one bad element too; a policy may let the next file follow.
  bool next(Ticket& ticket) override {
    auto held = std::make_shared<Held>();
    try {
      std::optional<TFRecord> record = next_record();
      if (!record) return false;
      Tensor bytes(DType::bytes, {});
      bytes.data_mut<std::string>()->assign(reinterpret_cast<const char*>(record->bytes.data()),
                                            record->bytes.size());
      held->element = {bytes};
    } catch (...) {
      held->error = addressed_error("tfrecord", epoch_, index_, paths_[next_path_ - 1]);
      if (reader_ && !reader_->can_go_on()) reader_.reset();
    }
    ticket = {epoch_, index_++, 0, std::move(held)};
    return true;
  }

 private:
  std::optional<TFRecord> next_record() {
    while (true) {
      if (reader_)
        if (std::optional<TFRecord> record = reader_->next()) return record;
      if (next_path_ == paths_.size()) return {};
      reader_.reset();
      file_ = files_.open(paths_[next_path_++]);
      reader_ = std::make_unique<TFRecordReader>(*file_,
                                                 TFRecordOptions{.check_data = options_.check_crc});
    }
  }

  std::vector<std::string> paths_;
  TfRecordOptions options_;
  FileSystem& files_;
  std::unique_ptr<FileReader> file_;
  std::unique_ptr<TFRecordReader> reader_;
  int64_t epoch_ = 0, index_ = 0;
  size_t next_path_ = 0;
};

class RecordNode final : public Node {
 public:
  RecordNode(std::vector<std::string> paths, TfRecordOptions options, FileSystem& files)
      : Node("tfrecord", {}, {{DType::bytes, {}}}, {}, false),
        paths_(std::move(paths)),
        options_(options),
        files_(files) {}
  std::string details() const override {
    return paths_.size() == 1 ? fmt::format("\"{}\"", paths_[0])
                              : fmt::format("{} files", paths_.size());
  }
  void add_sources(SourceFiles& files) const override {
    for (const std::string& path : paths_) files.add(path, files_);
  }
  Planned plan(PlanContext&) const override {
    Planned planned{.maker = held_maker()};
    planned.stream = std::make_unique<RecordTickets>(paths_, options_, files_);
    planned.replay = title(*this) + " is read from the beginning up to the place";
    return planned;
  }

 private:
  std::vector<std::string> paths_;
  TfRecordOptions options_;
  FileSystem& files_;
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
  if (paths.empty()) throw ValueError("tfrecord: no files were given");
  return Dataset(std::make_shared<RecordNode>(paths, options, files));
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
