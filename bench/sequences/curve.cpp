#include "sequences/curve.h"

#include <fstream>

#include <fmt/format.h>
#include <stoker/stoker.h>
#include <nlohmann/json.hpp>

#include "sequences/transformers.h"

namespace stoker::bench {

namespace {

// As in curve.py.
constexpr Gpt kGpt{4, 128, 4, 64, 64};
constexpr int64_t kCurveSteps = 200, kCurveBatch = 8;

// Of four tokens that may follow each one, the position says which.
Batch formula_batch(int64_t step) {
  Tensor ids(DType::int32, {kCurveBatch, kGpt.length}),
      next(DType::int32, {kCurveBatch, kGpt.length});
  for (int64_t row = 0; row < kCurveBatch; ++row) {
    int64_t token = (step * 31 + row * 17) % kGpt.vocabulary;
    for (int64_t t = 0; t < kGpt.length; ++t) {
      int64_t at = row * kGpt.length + t;
      ids.data_mut<int32_t>()[at] = int32_t(token);
      token = (token * 5 + 3 + (t * 7 + row + step) % 4) % kGpt.vocabulary;
      next.data_mut<int32_t>()[at] = int32_t(token);
    }
  }
  return {ids, next};
}

}  // namespace

int write_curve(const std::string& folder) {
  set_seed(1);
  Model model = gpt_model(kGpt);
  model.compile(
      {.optimizer = AdamW(
           {.learning_rate = 1e-3, .weight_decay = 0.01, .epsilon = 1e-8, .global_clipnorm = 1.0}),
       .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  TensorMap weights;
  for (const Variable& weight : model.weights())
    weights.emplace(fmt::format("{:03}", weights.size()), weight.read());
  save_safetensors(folder + "/weights.safetensors", weights);
  std::vector<double> losses;
  for (int64_t step = 0; step < kCurveSteps; ++step)
    losses.push_back(model.train_on_batch(formula_batch(step))["loss"]);
  std::ofstream(folder + "/stoker.json") << nlohmann::json{{"losses", losses}}.dump() << "\n";
  return 0;
}

}  // namespace stoker::bench
