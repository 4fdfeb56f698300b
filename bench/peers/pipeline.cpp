#include "pipeline.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "formats/idx.h"
#include "serve.h"

namespace stoker::peers {
namespace {

using data::Dataset;
using nlohmann::json;

constexpr data::BatchOptions kWhole = {.drop_remainder = true};

// What lies in memory before the clock starts: peers load it then too.
std::vector<Tensor> digits(const json& workload) {
  if (workload.at("pipeline") != "memory") return {};
  const std::string folder = workload.at("mnist");
  return {read_idx(folder + "/train-images.idx"), read_idx(folder + "/train-labels.idx")};
}

Dataset memory(const json& workload, const std::vector<Tensor>& columns) {
  const int64_t batch = workload.at("batch");
  return data::from_slices(columns)
      .shuffle()
      .repeat()
      .map(image::rescale(1.0 / 255))
      .batch(batch, kWhole)
      .prefetch(AUTOTUNE);
}

image::Op augment(int64_t size) {
  return image::decode_jpeg() | image::random_resized_crop(size) | image::random_flip_left_right();
}

Dataset photos(const json& workload) {
  const std::string folder = workload.at("photos");
  return data::image_folder(folder)
      .shuffle()
      .repeat()
      .map(augment(workload.at("size").get<int64_t>()))
      .batch(workload.at("batch").get<int64_t>(), kWhole)
      .prefetch(AUTOTUNE);
}

void digit_from_bytes(std::string_view bytes, int64_t label, TensorView image, TensorView target) {
  if (bytes.size() != 784) throw ValueError("a digit of other than 784 bytes");
  std::transform(bytes.begin(), bytes.end(), static_cast<float*>(image.data),
                 [](char pixel) { return float(uint8_t(pixel)) * (1.0F / 255); });
  *static_cast<int64_t*>(target.data) = label;
}

Dataset records(const json& workload) {
  const std::string path = workload.at("tfrecord");
  const data::ElementSpec digit = {{DType::float32, {28, 28}}, {DType::int64, {}}};
  return data::tfrecord({path})
      .repeat()
      .map(data::parse_example({{"image", {DType::bytes, {}}}, {"label", {DType::int64, {}}}}))
      .map(&digit_from_bytes, {.name = "digit_from_bytes", .spec = digit})
      .batch(workload.at("batch").get<int64_t>(), kWhole)
      .prefetch(AUTOTUNE);
}

Dataset pipeline(const json& workload, const std::vector<Tensor>& columns) {
  const std::string name = workload.at("pipeline");
  if (name == "memory") return memory(workload, columns);
  if (name == "photos") return photos(workload);
  if (name == "records") return records(workload);
  throw ValueError("pipeline \"" + name + "\": expected memory, photos or records");
}

class Session {
 public:
  json answer(const json& request) {
    const std::string op = request.at("op");
    if (op == "load") return load(request.at("workload"));
    if (op == "run") return run(request.at("n"));
    if (op == "first") return first();
    if (op == "keep") return json::object();
    throw ValueError("operation \"" + op + "\": expected load, run, first or keep");
  }

 private:
  json load(const json& workload) {
    walk_.reset();
    workload_ = workload;
    digits_ = digits(workload);
    return {{"variants", {"as written, AUTOTUNE"}}};
  }

  json run(int n) {
    if (!walk_) walk_.emplace(pipeline(workload_, digits_).iterate());
    Stopwatch watch;
    Shape shape;
    for (int i = 0; i < n; ++i) shape = next()[0].shape();
    json reply = watch.read(n);
    reply["shape"] = std::vector<int64_t>(shape.begin(), shape.end());
    return reply;
  }

  json first() {
    walk_.reset();
    Stopwatch watch;
    walk_.emplace(pipeline(workload_, digits_).iterate());
    next();
    return watch.read(1);
  }

  const Batch& next() {
    const Batch* batch = walk_->next();
    if (batch == nullptr) throw Error("the pipeline ended");
    return *batch;
  }

  json workload_;
  std::vector<Tensor> digits_;
  std::optional<data::Iterator> walk_;
};

}  // namespace

data::Dataset scenes(const std::string& folder, int64_t size, int64_t batch, bool training) {
  Dataset files = data::image_folder(folder);
  if (training) return files.shuffle().map(augment(size)).batch(batch).prefetch(AUTOTUNE);
  return files.map(image::decode_jpeg() | image::resize(size, size))
      .batch(batch)
      .prefetch(AUTOTUNE);
}

void serve_pipelines() {
  Session session;
  serve([&](const json& request) { return session.answer(request); });
}

}  // namespace stoker::peers
