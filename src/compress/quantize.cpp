// quantize(): calibration, and the model that it leads to.
#include <stoker/quantize.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <stoker/error.h>

#include "compress/calibration.h"
#include "compress/float_walk.h"
#include "compress/int8_model.h"
#include "compress/quant_plan.h"
#include "engine/cpu/int8_support.h"

namespace stoker {

namespace {

using compress::GroupRanges;
using compress::QuantPlan;
using compress::Step;
using compress::ValueCounts;

void check_options(const QuantizeOptions& options) {
  if (!(options.percentile > 50 && options.percentile <= 100))
    throw ValueError(fmt::format("quantize: percentile is {}, expected a number in (50, 100]",
                                 options.percentile));
  if (options.weight_bits != 7 && options.weight_bits != 8)
    throw ValueError(
        fmt::format("quantize: weight_bits is {}, expected 7 or 8", options.weight_bits));
  if (options.steps && *options.steps < 1)
    throw ValueError(fmt::format("quantize: steps is {}, expected 1 or more", *options.steps));
}

// The model, with every activation that is to be stored as an output.
class Watched {
 public:
  explicit Watched(const QuantPlan& plan) : plan_(plan) {
    compress::SameWalk walk;
    Values inputs = walk.start(plan), outputs;
    for (const Step& step : plan.steps())
      if (!step.taken) walk.call(step);
    for (size_t edge = 0; edge < plan.edges().size(); ++edge) {
      if (!plan.edges()[edge].stored) continue;
      edges_.push_back(int(edge));
      // An input that is an output would have no layer.
      outputs.push_back(plan.edges()[edge].maker < 0 ? ops::stop_gradient(walk.at(int(edge)))
                                                     : walk.at(int(edge)));
    }
    model_ = Model(inputs, outputs);
  }

  void see(const std::vector<Tensor>& inputs) {
    std::vector<Tensor> values =
        model_.predict_all(TensorList(inputs), {.batch_size = inputs[0].shape()[0]});
    for (size_t i = 0; i < edges_.size(); ++i)
      counts_[plan_.group_of(edges_[i])].add(values[i].values<float>(),
                                             plan_.edges()[size_t(edges_[i])].name);
  }

  GroupRanges ranges(const QuantizeOptions& options) const {
    GroupRanges all;
    for (const auto& [group, counts] : counts_)
      all[group] = counts.range(options.calibration, options.percentile);
    return all;
  }

 private:
  const QuantPlan& plan_;
  Model model_;
  std::vector<int> edges_;
  std::map<int, ValueCounts> counts_;  // by group
};

std::vector<Tensor> inputs_in(const Batch& batch, size_t count) {
  if (batch.size() < count)
    throw ValueError(
        fmt::format("quantize: the model has {} inputs, a calibration batch holds {} tensors",
                    count, batch.size()));
  return {batch.begin(), batch.begin() + std::ptrdiff_t(count)};
}

void check_int8(const QuantPlan& plan) {
  if (std::ranges::any_of(plan.steps(), [](const Step& step) { return step.int8; })) return;
  std::string why;
  for (const KeptInFloat& one : plan.in_float())
    why += fmt::format("{}{}: {}", why.empty() ? ": " : "; ", one.layer, one.reason);
  throw ValueError("quantize: the model has no layer that can be int8" + why);
}

void add_notes(const QuantizeOptions& options, QuantizeReport& report) {
  if (options.weight_bits == 8 && !cpu::has_exact_int8_sums())
    report.notes.push_back(
        "This processor has no VNNI: it runs the model with the weights' last bit rounded away. "
        "weight_bits = 7 gives the same results on every machine.");
}

}  // namespace

Quantized quantize(const Model& model, const Batches& calibration, const QuantizeOptions& options) {
  check_options(options);
  QuantPlan plan(model, {options.layers, options.exclude});
  check_int8(plan);
  Quantized made;
  Watched watched(plan);
  int64_t steps = 0;
  if (calibration.defined()) {
    std::unique_ptr<BatchStream> stream = calibration.begin_walk();
    for (const Batch* batch = nullptr;
         (!options.steps || steps < *options.steps) && (batch = stream->next()) != nullptr;
         ++steps) {
      std::vector<Tensor> inputs = inputs_in(*batch, plan.inputs().size());
      if (inputs[0].shape().rank() == 0 || inputs[0].shape()[0] == 0) continue;
      watched.see(inputs);
      made.report.samples += inputs[0].shape()[0];
    }
  }
  if (made.report.samples == 0)
    throw ValueError(
        "quantize: the calibration set has no samples; pass some hundred that are like those that "
        "the model will see");
  made.model = compress::int8_model(model, plan, watched.ranges(options),
                                    {options.weight_bits, options.custom_objects}, made.report);
  add_notes(options, made.report);
  return made;
}

namespace {

// The ranges that an aware model has learned, united where activations share a scale.
GroupRanges learned_ranges(const QuantPlan& plan) {
  GroupRanges ranges;
  for (const Step& step : plan.steps()) {
    if (!compress::is_range(step.layer)) continue;
    std::vector<Tensor> range = step.layer.get_weights();  // low, high, seen
    double low = range[0].item(), high = range[1].item();
    if (!std::isfinite(low) || !std::isfinite(high))
      throw ValueError(
          fmt::format("quantize: \"{}\" has the range [{}, {}]; expected finite numbers", step.path,
                      low, high));
    if (range[2].item() == 0) continue;
    compress::Range& known = ranges[plan.group_of(step.outputs[0])];
    known = {std::min(known.low, low), std::max(known.high, high)};
  }
  for (size_t edge = 0; edge < plan.edges().size(); ++edge)
    if (plan.edges()[edge].stored && !ranges.contains(plan.group_of(int(edge))))
      throw ValueError(fmt::format(
          "quantize: the output of \"{}\" has no range yet; train the model, or pass calibration "
          "data",
          plan.edges()[edge].name));
  return ranges;
}

}  // namespace

Quantized quantize(const Model& aware, const QuantizeOptions& options) {
  check_options(options);
  QuantPlan plan(aware, {.layers = options.layers, .exclude = options.exclude, .only_aware = true});
  bool trained = std::ranges::any_of(plan.steps(), [](const Step& step) {
    return step.layer.shared() && compress::is_aware(step.layer);
  });
  if (!trained)
    throw ValueError(
        "quantize: the model is not of quantize_aware(); pass calibration data: "
        "quantize(model, data)");
  check_int8(plan);
  Quantized made;
  made.model = compress::int8_model(aware, plan, learned_ranges(plan),
                                    {options.weight_bits, options.custom_objects}, made.report);
  add_notes(options, made.report);
  return made;
}

Quantized quantize(const Model& model, const TensorList& calibration,
                   const QuantizeOptions& options) {
  constexpr int64_t kBatch = 64;
  int64_t rows =
      calibration.empty() || calibration[0].shape().rank() == 0 ? 0 : calibration[0].shape()[0];
  for (const Tensor& each : calibration.list())
    if (each.shape().rank() == 0 || each.shape()[0] != rows)
      throw ValueError(fmt::format(
          "quantize: calibration tensors have {} and {} samples, expected the same number of each",
          rows, to_string(each.shape())));
  int64_t next = 0;
  return quantize(model, Batches([&]() -> std::optional<Batch> {
                    if (next >= rows) return {};
                    int64_t end = std::min(next + kBatch, rows);
                    std::vector<Tensor> tensors;
                    for (const Tensor& each : calibration.list())
                      tensors.push_back(each.slice(next, end));
                    next = end;
                    return Batch(tensors);
                  }),
                  options);
}

}  // namespace stoker
