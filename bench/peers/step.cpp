#include "step.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/profile.h"
#include "common/training_step.h"
#include "models.h"
#include "serve.h"
#include "train/step/program_cache.h"

namespace stoker::peers {
namespace {

using nlohmann::json;

constexpr const char* kVariant = "train_on_batch";
constexpr int64_t kSamples = 4096;  // enough that a run does not learn them by heart

Batch random_batch(const Shape& sample, int64_t rows, std::mt19937& random) {
  Tensor x(DType::float32, sample.prepend(rows)), y(DType::int32, {rows});
  std::uniform_real_distribution<float> pixel(0, 1);
  std::uniform_int_distribution<int32_t> label(0, 9);
  std::generate_n(x.data_mut<float>(), x.elements(), [&] { return pixel(random); });
  std::generate_n(y.data_mut<int32_t>(), rows, [&] { return label(random); });
  return {x, y};
}

// A compiled model and its batches, walked in turn.
class Training {
 public:
  Training(const std::string& name, int64_t batch) : model_(build_model(name)) {
    model_.compile(
        {.optimizer = Adam({.learning_rate = 1e-4}), .loss = "sparse_categorical_crossentropy"});
    std::mt19937 random(7);
    for (int64_t index = 0; index < std::max<int64_t>(2, kSamples / batch); ++index)
      batches_.push_back(random_batch(input_shape(name), batch, random));
  }

  int64_t parameters() const { return trainable_parameters(model_); }

  void print_profile() {
    bench::print_profile(*bench::training_program(model_, batches_[0]).program,
                         batches_[0].tensors(), 100, std::cout);
  }

  double run(int n) {
    Logs logs;
    for (int step = 0; step < n; ++step)
      logs = model_.train_on_batch(batches_[next_++ % batches_.size()]);
    return logs["loss"];
  }

 private:
  Model model_;
  std::vector<Batch> batches_;
  size_t next_ = 0;
};

class Session {
 public:
  json answer(const json& request) {
    const std::string op = request.at("op");
    if (op == "load") return load(request.at("workload"));
    if (op == "run") return run(request.at("n"));
    if (op == "keep") return json::object();
    throw ValueError("operation \"" + op + "\": expected load, run or keep");
  }

 private:
  json load(const json& workload) {
    training_.emplace(workload.at("model").get<std::string>(), workload.at("batch").get<int64_t>());
    return {{"variants", {kVariant}}, {"parameters", training_->parameters()}};
  }

  json run(int n) {
    Stopwatch watch;
    const double loss = training_.value().run(n);
    json reply = watch.read(n);
    reply["loss"] = loss;
    return reply;
  }

  std::optional<Training> training_;
};

}  // namespace

void profile(const std::string& workload) {
  const size_t slash = workload.find('/');
  if (slash == std::string::npos) throw ValueError("profile: expected MODEL/BATCH");
  Training(workload.substr(0, slash), std::stoll(workload.substr(slash + 1))).print_profile();
}

void serve_steps() {
  Session session;
  serve([&](const json& request) { return session.answer(request); });
}

}  // namespace stoker::peers
