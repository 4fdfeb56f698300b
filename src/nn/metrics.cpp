#include <stoker/metrics.h>

#include <array>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/layer.h>
#include <stoker/ops.h>

#include "graph/graph.h"
#include "nn/metric_functions.h"
#include "nn/names.h"
#include "nn/targets.h"

namespace stoker {

namespace {

// The sums a metric keeps. What is counted is counted in int64: a float32 stops counting one by one
// at 2^24, which an epoch of segmented images passes within its first steps. Weighted samples and
// real values go into the float32 sums beside them; a step adds to one side or the other, and the
// result is of both together.
enum Sum : uint8_t { kPartCount, kWholeCount, kPartSum, kWholeSum };
constexpr std::array<const char*, 4> kSumNames = {"part_count", "whole_count", "part_sum",
                                                  "whole_sum"};

Tensor zero(size_t sum) {
  return Tensor::zeros({}, sum < kPartSum ? DType::int64 : DType::float32);
}

std::vector<Variable> make_sums(const std::string& name) {
  std::vector<Variable> sums;
  for (size_t sum = 0; sum < kSumNames.size(); ++sum)
    sums.emplace_back(fmt::format("{}/{}", name, kSumNames[sum]), zero(sum),
                      Variable::Options{.trainable = false, .category = MemoryCategory::metrics});
  return sums;
}

void add(Graph& graph, const Variable& sum, const Value& value) {
  graph.assign(sum, CallContext(graph).current(sum) + value, Assign::always);
}

Value total(const Value& x, DType dtype) { return ops::sum(cast_to(x, dtype)); }

// [B] → [B, 1, ..], to meet x: [B, ..].
Value beside(const Value& weight, const Value& x) {
  Shape shape;
  for (int axis = 1; axis < x.shape().rank(); ++axis) shape = shape.prepend(1);
  return ops::reshape(weight, shape.prepend(weight.shape()[0]));
}

}  // namespace

struct Metric::Impl {
  std::string kind;
  Attrs config;
  MetricOptions options;  // .name is the one shown
  std::function<Value(const Value& y_true, const Value& y_pred)> function;
  std::vector<Variable> sums;

  void add_counts(Graph& graph, const Share& share) const {
    bool real = is_floating(share.part.dtype());
    add(graph, sums[real ? kPartSum : kPartCount],
        total(share.part, real ? DType::float32 : DType::int64));
    Value whole = share.whole.defined() ? total(share.whole, DType::int64)
                                        : Value(double(share.part.shape().elements()));
    add(graph, sums[kWholeCount], whole);
  }

  void add_weighted(Graph& graph, const Share& share, const Value& sample_weight) const {
    Value weight =
        beside(as_sample_weight(options.name, sample_weight, share.part.shape()[0]), share.part);
    add(graph, sums[kPartSum], ops::sum(cast_to(share.part, DType::float32) * weight));
    Value whole = share.whole.defined() ? cast_to(share.whole, DType::float32) * weight
                                        : ops::broadcast_to(weight, share.part.shape());
    add(graph, sums[kWholeSum], ops::sum(whole));
  }
};

Metric::Metric(const std::string& name) : Metric(metric_kind(name), Attrs(), {.name = name}) {}

Metric::Metric(std::string kind, Attrs config, MetricOptions options)
    : impl_(std::make_shared<Impl>()) {
  impl_->kind = std::move(kind);
  impl_->kind = metric_kind(impl_->kind);
  impl_->config = std::move(config);
  if (options.name.empty()) options.name = snake_case(impl_->kind);
  impl_->sums = make_sums(options.name);
  impl_->options = std::move(options);
}

Metric::Metric(std::string name, std::function<Value(const Value&, const Value&)> function)
    : impl_(std::make_shared<Impl>()) {
  if (!function)
    throw ValueError(fmt::format("metric \"{}\": expected a function, got an empty one", name));
  impl_->kind = name;
  impl_->function = std::move(function);
  impl_->sums = make_sums(name);
  impl_->options.name = std::move(name);
}

const std::string& Metric::name() const { return impl_->options.name; }
const std::string& Metric::output() const { return impl_->options.output; }
const std::string& Metric::kind() const { return impl_->kind; }
const Attrs& Metric::config() const { return impl_->config; }
bool Metric::custom() const { return impl_->function != nullptr; }
const std::vector<Variable>& Metric::state() const { return impl_->sums; }

void Metric::update(const Value& y_true, const Value& y_pred, const Value& sample_weight) const {
  if (y_pred.traced() == nullptr)
    throw Error(
        fmt::format("metric \"{}\": update() adds to a step that is being traced, and this "
                    "prediction belongs to none",
                    name()));
  Graph& graph = *y_pred.traced()->graph;
  Share share =
      impl_->function
          ? Share{own_values(name(), impl_->function(y_true, y_pred), y_pred.shape()[0]), {}}
          : metric_share(impl_->kind, impl_->config, name(), y_true, y_pred);
  if (sample_weight.defined())
    impl_->add_weighted(graph, share, sample_weight);
  else
    impl_->add_counts(graph, share);
}

double Metric::result() const {
  auto read = [&](Sum sum) { return impl_->sums[sum].read().item(); };
  double whole = read(kWholeCount) + read(kWholeSum);
  return whole == 0 ? 0 : (read(kPartCount) + read(kPartSum)) / whole;
}

void Metric::reset() const {
  for (size_t sum = 0; sum < impl_->sums.size(); ++sum) impl_->sums[sum].write(zero(sum));
}

Metric Metric::clone() const {
  Metric copy = *this;
  copy.impl_ = std::make_shared<Impl>(*impl_);
  copy.impl_->sums = make_sums(name());
  return copy;
}

// --- by name -------------------------------------------------------------------------------------

namespace {

Attrs with_k(const char* kind, int k) {
  if (k < 1) throw ValueError(fmt::format("{}: k is at least 1, got {}", kind, k));
  return {{"k", int64_t(k)}};
}

}  // namespace

Metric Accuracy(const MetricOptions& options) { return {"Accuracy", {}, options}; }
Metric SparseCategoricalAccuracy(const MetricOptions& options) {
  return {"SparseCategoricalAccuracy", {}, options};
}
Metric CategoricalAccuracy(const MetricOptions& options) {
  return {"CategoricalAccuracy", {}, options};
}
Metric BinaryAccuracy(double threshold, const MetricOptions& options) {
  return {"BinaryAccuracy", {{"threshold", threshold}}, options};
}
Metric TopKCategoricalAccuracy(int k, const MetricOptions& options) {
  return {"TopKCategoricalAccuracy", with_k("TopKCategoricalAccuracy", k), options};
}
Metric SparseTopKCategoricalAccuracy(int k, const MetricOptions& options) {
  return {"SparseTopKCategoricalAccuracy", with_k("SparseTopKCategoricalAccuracy", k), options};
}
Metric Precision(double threshold, const MetricOptions& options) {
  return {"Precision", {{"threshold", threshold}}, options};
}
Metric Recall(double threshold, const MetricOptions& options) {
  return {"Recall", {{"threshold", threshold}}, options};
}
Metric MeanSquaredErrorMetric(const MetricOptions& options) {
  return {"MeanSquaredError", {}, options};
}
Metric MeanAbsoluteErrorMetric(const MetricOptions& options) {
  return {"MeanAbsoluteError", {}, options};
}

}  // namespace stoker
