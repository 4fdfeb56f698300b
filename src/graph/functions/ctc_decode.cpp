// Sequences from the logits of a CTC model: the likeliest class of every step, or a search with a beam
// of prefixes (Graves, Hannun et al.), which runs on the host.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_math.h>
#include <stoker/ops_nn.h>
#include <stoker/ops_statistics.h>

#include "base/host_function.h"
#include "graph/emit.h"
#include "graph/op.h"

namespace stoker::ops {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  double high = std::max(a, b), low = std::min(a, b);
  return low == kNever ? high : high + std::log1p(std::exp(low - high));
}

// Log probabilities of a prefix: its last step was the mask, or its last label.
struct Prefix {
  double masked = kNever, labelled = kNever;
  double total() const { return log_add(masked, labelled); }
};
using Labels = std::vector<int32_t>;
using Beam = std::map<Labels, Prefix>;

Beam extended(const Beam& beam, const std::vector<double>& logs, int64_t mask) {
  Beam next;
  for (const auto& [labels, prefix] : beam) {
    Prefix& same = next[labels];
    same.masked = log_add(same.masked, prefix.total() + logs[size_t(mask)]);
    if (!labels.empty())
      same.labelled = log_add(same.labelled, prefix.labelled + logs[size_t(labels.back())]);
    for (int64_t label = 0; label < int64_t(logs.size()); ++label) {
      if (label == mask) continue;
      Labels longer = labels;
      longer.push_back(int32_t(label));
      // A label twice in a row needs a mask in between.
      bool again = !labels.empty() && labels.back() == label;
      Prefix& grown = next[longer];
      grown.labelled =
          log_add(grown.labelled, (again ? prefix.masked : prefix.total()) + logs[size_t(label)]);
    }
  }
  return next;
}

// The best of the beam, best first; the smaller labels of equals.
std::vector<std::pair<Labels, Prefix>> best_of(const Beam& beam, int64_t count) {
  std::vector<std::pair<Labels, Prefix>> all(beam.begin(), beam.end());
  std::ranges::stable_sort(
      all, [](const auto& a, const auto& b) { return a.second.total() > b.second.total(); });
  if (int64_t(all.size()) > count) all.resize(size_t(count));
  return all;
}

std::vector<double> log_probabilities(const float* logits, int64_t classes) {
  double high = *std::max_element(logits, logits + classes), sum = 0;
  for (int64_t i = 0; i < classes; ++i) sum += std::exp(double(logits[i]) - high);
  std::vector<double> logs;
  for (int64_t i = 0; i < classes; ++i) logs.push_back(double(logits[i]) - high - std::log(sum));
  return logs;
}

// logits [B, T, classes], lengths [B] int32 → sequences [paths, B, T] int32, scores [B, paths]
void search(const CtcDecode& options, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  int64_t batch = shape[0], steps = shape[1], classes = shape[2], paths = options.top_paths;
  auto* sequences = outputs[0].data_mut<int32_t>();
  auto* scores = outputs[1].data_mut<float>();
  std::fill_n(sequences, paths * batch * steps, -1);
  std::fill_n(scores, batch * paths, -std::numeric_limits<float>::infinity());
  for (int64_t sample = 0; sample < batch; ++sample) {
    int64_t length = std::clamp<int64_t>(inputs[1].data<int32_t>()[sample], 0, steps);
    Beam beam = {{Labels(), Prefix{.masked = 0}}};
    for (int64_t step = 0; step < length; ++step) {
      const float* logits = inputs[0].data<float>() + (sample * steps + step) * classes;
      auto kept = best_of(extended(beam, log_probabilities(logits, classes), options.mask_index),
                          options.beam_width);
      beam = Beam(kept.begin(), kept.end());
    }
    auto best = best_of(beam, paths);
    for (size_t path = 0; path < best.size(); ++path) {
      std::ranges::copy(best[path].first, sequences + (int64_t(path) * batch + sample) * steps);
      scores[sample * paths + int64_t(path)] = float(best[path].second.total());
    }
  }
}

CtcDecoded beam_search(const Value& logits, const Value& lengths, const CtcDecode& options) {
  auto function = std::make_shared<HostFunction>();
  function->name = "ctc_decode";
  function->infer = [paths = options.top_paths](std::span<const TensorSpec> inputs) {
    const Shape& shape = inputs[0].shape;
    return std::vector<TensorSpec>{{DType::int32, {paths, shape[0], shape[1]}},
                                   {DType::float32, {shape[0], paths}}};
  };
  function->run = [options](std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    search(options, inputs, outputs);
  };
  Values found = apply("host_call", {emit::cast(logits, DType::float32), lengths},
                       {{"function", std::shared_ptr<const HostFunction>(function)}});
  return {found[0], stop_gradient(found[1])};
}

// Repeated classes count once, then the mask goes and the rest moves together.
CtcDecoded greedy(const Value& logits, const Value& lengths, const CtcDecode& options) {
  int64_t batch = logits.shape()[0], steps = logits.shape()[1];
  Value step = arange(Step(0), Step(steps), Step(1), DType::int32);
  Value is_over = greater_equal(step, expand_dims(lengths, -1));
  Value classes = where(is_over, options.mask_index, cast(argmax(logits, -1), DType::int32));
  Value scores = where(is_over, 0.0, max(logits, {.axes = {-1}}));
  if (options.merge_repeated && steps > 1) {
    Value earlier = emit::slice(classes, {0, 0}, {batch, steps - 1});
    Value before = concatenate({Value(Tensor::full({batch, 1}, -1, DType::int32)), earlier}, 1);
    classes = where(equal(classes, before), options.mask_index, classes);
  }
  Value is_mask = equal(classes, options.mask_index);
  Value order = argsort(where(is_mask, steps, emit::broadcast_to(step, {batch, steps})), -1);
  Value kept = take_along_axis(where(is_mask, -1, classes), order, -1);
  return {expand_dims(kept, 0), stop_gradient(-expand_dims(sum(scores, {.axes = {1}}), -1))};
}

}  // namespace

CtcDecoded ctc_decode(const Value& logits, const Value& lengths, const CtcDecode& options) {
  const Shape& shape = logits.shape();
  if (shape.rank() != 3 || lengths.shape().rank() != 1 || lengths.shape()[0] != shape[0])
    throw ShapeError(
        fmt::format("ctc_decode: expected logits [B, T, classes] and lengths [B], got {} and {}",
                    to_string(shape), to_string(lengths.shape())));
  CtcDecode checked = options;
  if (checked.mask_index < 0) checked.mask_index += shape[2];
  if (checked.mask_index < 0 || checked.mask_index >= shape[2])
    throw ValueError(
        fmt::format("ctc_decode: there is no class {} of {}", options.mask_index, shape[2]));
  Value whole = emit::cast(lengths, DType::int32);
  if (options.strategy == "greedy")
    return greedy(emit::cast(logits, DType::float32), whole, checked);
  if (options.strategy != "beam_search")
    throw ValueError(fmt::format("ctc_decode: strategy must be greedy or beam_search, got \"{}\"",
                                 options.strategy));
  if (options.beam_width < 1 || options.top_paths < 1 || options.top_paths > options.beam_width)
    throw ValueError(fmt::format("ctc_decode: expected 1 <= top_paths <= beam_width, got {} and {}",
                                 options.top_paths, options.beam_width));
  return beam_search(logits, whole, checked);
}

}  // namespace stoker::ops
