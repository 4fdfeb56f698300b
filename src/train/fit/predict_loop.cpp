#include <cstring>

#include <fmt/format.h>

#include "train/fit/loops.h"
#include "train/step/steps.h"

namespace stoker {

namespace {

// Parts [n₀, …], [n₁, …] → [n₀ + n₁ + …, …]
Tensor joined_rows(const std::vector<Tensor>& parts) {
  if (parts.size() == 1) return parts[0];
  int64_t rows = 0;
  for (const Tensor& part : parts) {
    rows += part.shape()[0];
    if (part.shape().drop_front() != parts[0].shape().drop_front())
      throw ShapeError(fmt::format(
          "predict: batches of different lengths gave outputs {} and {}, which do not become one "
          "tensor; pad all batches to one length, or use predict_on_batch",
          to_string(parts[0].shape()), to_string(part.shape())));
  }
  Tensor whole(parts[0].dtype(), parts[0].shape().with(0, rows));
  auto* out = static_cast<std::byte*>(whole.raw_mut());
  for (const Tensor& part : parts) {
    std::memcpy(out, part.raw(), part.bytes());
    out += part.bytes();
  }
  return whole;
}

}  // namespace

std::vector<Tensor> run_predict(ModelBase& model, Feed& feed, const CallbackCalls& callbacks) {
  callbacks(&Callback::on_predict_begin);
  std::vector<std::vector<Tensor>> parts;
  StepPlace place{.action = "predict", .epoch = -1, .step = 0};
  feed.begin_epoch(0);
  while (const Batch* batch = feed.next()) {
    callbacks(&Callback::on_predict_batch_begin, place.step);
    prepare(model, batch->tensors(), "predict");
    // Batches may bring targets, as those of evaluate do.
    size_t inputs = std::min(batch->size(), model.topology("predict").inputs.size());
    parts.resize(model.topology("predict").outputs.size());
    {
      Prediction prediction(model, std::span(batch->tensors()).first(inputs), place);
      for (size_t i = 0; i < parts.size(); ++i) parts[i].push_back(prediction.output(i));
    }
    callbacks(&Callback::on_predict_batch_end, place.step);
    ++place.step;
  }
  callbacks(&Callback::on_predict_end);
  std::vector<Tensor> outputs;
  for (const auto& list : parts) outputs.push_back(joined_rows(list));
  return outputs;
}

}  // namespace stoker
