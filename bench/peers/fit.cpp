#include "fit.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <vector>

#include <nlohmann/json.hpp>

#include "formats/idx.h"
#include "models.h"
#include "pipeline.h"

namespace stoker::peers {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Part {
  Tensor x, y;
};

Part read_part(const std::string& folder, const std::string& name, int64_t most) {
  const Tensor images = read_idx(folder + "/" + name + "-images.idx");
  const Tensor labels = read_idx(folder + "/" + name + "-labels.idx");
  const int64_t rows = most > 0 ? std::min(most, images.shape()[0]) : images.shape()[0];
  Tensor x(DType::float32, {rows, 28, 28, 1});
  std::transform(images.data<uint8_t>(), images.data<uint8_t>() + rows * 784, x.data_mut<float>(),
                 [](uint8_t pixel) { return float(pixel) / 255.0f; });
  return {x, labels.slice(0, rows).cast(DType::int32)};
}

class EpochTimes : public Callback {
 public:
  void on_epoch_begin(int64_t) override { begin_ = Clock::now(); }
  void on_epoch_end(int64_t, const Logs&) override {
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin_).count());
  }
  std::vector<double> seconds;

 private:
  Clock::time_point begin_;
};

void print_result(const EpochTimes& times, int64_t samples, double accuracy) {
  std::cout << json{{"epochs", times.seconds}, {"samples", samples}, {"accuracy", accuracy}}.dump()
            << std::endl;
}

Model compiled(const std::string& name) {
  Model model = build_model(name);
  model.compile(
      {.optimizer = Adam(), .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  return model;
}

void fit_digits(const json& job) {
  const std::string folder = job.at("folder");
  const json samples = job.at("samples");
  const Part train = read_part(folder, "train", samples.is_null() ? 0 : samples.get<int64_t>());
  Model model = compiled("cnn32");
  EpochTimes times;
  model.fit(train.x, train.y,
            {.epochs = job.at("epochs"),
             .batch_size = job.at("batch").get<int64_t>(),
             .verbose = 0,
             .callbacks = {times}});
  const Part test = read_part(folder, "t10k", 0);
  print_result(times, train.x.shape()[0],
               model.evaluate(test.x, test.y, {.batch_size = 256})["accuracy"]);
}

void fit_scenes(const json& job) {
  const std::string folder = job.at("folder");
  const int64_t batch = job.at("batch");
  const data::Dataset train = scenes(folder + "/train", 96, batch, true);
  Model model = compiled("photos");
  EpochTimes times;
  model.fit(train.batches(), {.epochs = job.at("epochs"), .verbose = 0, .callbacks = {times}});
  const data::Dataset test = scenes(folder + "/test", 96, batch, false);
  print_result(times, data::image_folder(folder + "/train").cardinality().count.value(),
               model.evaluate(test.batches())["accuracy"]);
}

}  // namespace

void fit(const std::string& text) {
  const json job = json::parse(text);
  if (job.at("data") == "digits")
    fit_digits(job);
  else if (job.at("data") == "scenes")
    fit_scenes(job);
  else
    throw ValueError("fit: expected digits or scenes");
}

void start() {
  Model model = build_model("cnn32");
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  const Logs logs =
      model.train_on_batch(Tensor::zeros({32, 28, 28, 1}), Tensor::zeros({32}, DType::int32));
  std::cout << json{{"loss", logs["loss"]}}.dump() << std::endl;
}

}  // namespace stoker::peers
