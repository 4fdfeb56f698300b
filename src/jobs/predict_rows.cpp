#include "jobs/predict_rows.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "jobs/data_kinds.h"
#include "jobs/table_data.h"

namespace stoker::jobs {

namespace {

using nlohmann::json;

// The labels of the `top` largest values, best first.
std::vector<int64_t> best_of(std::span<const float> values, int64_t top) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  auto count = std::min(top, int64_t(order.size()));
  std::partial_sort(order.begin(), order.begin() + count, order.end(),
                    [&](int64_t a, int64_t b) { return values[size_t(a)] > values[size_t(b)]; });
  order.resize(size_t(count));
  return order;
}

void expect_input(const TrainedModel& trained, const TensorSpec& got) {
  TensorSpec taken = input_of(trained);
  if (taken.shape != got.shape)
    throw ShapeError(fmt::format("{}: the model takes {}, but the data gives {}", trained.path,
                                 to_string(taken.shape), to_string(got.shape)));
}

}  // namespace

json predicted_row(const TrainedModel& trained, std::span<const float> outputs, int64_t top) {
  if (!learns_classes(trained.job)) return {{"numbers", outputs}};
  json all = json::array();
  for (int64_t label : best_of(outputs, top))
    all.push_back({{"class", trained.names.class_of(label)},
                   {"label", label},
                   {"probability", outputs[size_t(label)]}});
  json row = all[0];
  row["top"] = std::move(all);
  return row;
}

json predict_rows(const TrainedModel& trained, const std::string& spec, int64_t top) {
  constexpr int64_t kBatch = 256;
  data::Dataset inputs = open_rows(trained.job, spec, trained.names, trained.path);
  expect_input(trained, inputs.spec()[0]);
  json rows = json::array();
  for (const Batch& batch : inputs.batch(kBatch)) {
    Tensor outputs = trained.model.predict(batch[0]);
    for (int64_t i = 0; i < outputs.shape()[0]; ++i) {
      json row = predicted_row(trained, outputs[i].values<float>(), top);
      row["row"] = rows.size() + 1;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace stoker::jobs
