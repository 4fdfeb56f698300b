// map: a function of every element, on the worker that makes it.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/thread_time.h"
#include "base/tracing.h"
#include "data/image/function.h"
#include "data/node.h"
#include "data/ops/element_maker.h"
#include "data/runtime/planning.h"
#include "data/runtime/slicing.h"
#include "data/runtime/writers.h"

namespace stoker::data {

namespace {

constexpr uint32_t kSamplePeriod = 64;     // of calls that are cheaper than
constexpr double kAlwaysMeasured = 5'000;  // nanoseconds: 60 for two clock readings are 1 % then
constexpr int64_t kCpuPeriod = 16;         // of measured elements: whose time on a core is taken

// Counts what goes through, for the bytes that a cache would hold.
int64_t bytes_of(const ConstTensorView& view) {
  if (view.dtype != DType::bytes) return int64_t(view.bytes());
  int64_t total = 0;
  for (const std::string& text : view.values<std::string>()) total += int64_t(text.size());
  return total;
}

class MeasuredWriter final : public ElementWriter {
 public:
  explicit MeasuredWriter(ElementWriter& out) : out_(out) {}
  void* put(size_t index, DType dtype, const Shape& shape) override {
    bytes += shape.elements() * int64_t(size_of(dtype));
    return out_.put(index, dtype, shape);
  }
  void copy(size_t index, const ConstTensorView& value) override {
    bytes += bytes_of(value);
    out_.copy(index, value);
  }
  int64_t bytes = 0;

 private:
  ElementWriter& out_;
};

// Holds a function to its spec: what comes next relies on it.
class CheckedWriter final : public ElementWriter {
 public:
  CheckedWriter(ElementWriter& out, const ElementSpec& spec) : out_(out), spec_(spec) {}
  void* put(size_t index, DType dtype, const Shape& shape) override {
    check(index, dtype, shape);
    return out_.put(index, dtype, shape);
  }
  void copy(size_t index, const ConstTensorView& value) override {
    check(index, value.dtype, value.shape);
    out_.copy(index, value);
  }
  void check_all_written() const {
    if (written_ != spec_.size())
      throw ShapeError(fmt::format("it gave {} components, but its spec says {}: {}", written_,
                                   spec_.size(), to_string(spec_)));
  }

 private:
  void check(size_t index, DType dtype, const Shape& shape) {
    if (index >= spec_.size())
      throw ShapeError(
          fmt::format("it gave component {}, but its spec says {}", index, to_string(spec_)));
    const TensorSpec& spec = spec_[index];
    bool same_scalar = dtype == spec.dtype && shape.rank() == 0 && spec.shape.rank() == 0;
    if (!same_scalar) check_against(spec, index, dtype, shape);
    ++written_;
  }
  ElementWriter& out_;
  const ElementSpec& spec_;
  size_t written_ = 0;
};

class MapMaker final : public ElementMaker {
 public:
  MapMaker(MakerRef input, FunctionRef function, ElementSpec spec, std::string stage, uint64_t key,
           size_t scratch, StageStats& stats, bool per_row)
      : ElementMaker(std::move(input), std::move(stage), key, scratch),
        function_(std::move(function)),
        of_records_(dynamic_cast<const RecordFunction*>(function_.get())),
        spec_(std::move(spec)),
        stats_(stats),
        per_row_(per_row) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    return make_from(ticket, worker, [&](const ScratchElement& in, Rng& rng, const Made&) {
      CheckedWriter checked(out, spec_);
      if (worker.sample(stats_.sample_period.load(std::memory_order_relaxed)))
        apply_measured(in, checked, rng);
      else
        function_->apply(in.views(), checked, rng);
      checked.check_all_written();
    });
  }
  // Whatever goes wrong with a record is said by make().
  int64_t make_run(const Ticket& first, int64_t count, ElementWriter& out,
                   Worker& worker) const override {
    if (of_records_ == nullptr) return 0;
    try {
      Records records = input_->records(first, count, worker);
      return records.empty() ? 0 : apply_measured(records, out);
    } catch (const Error&) {
      return 0;
    }
  }
  void hint(const Ticket& ticket) const override { input_->hint(ticket); }
  MakerRef sliced(const MakerRef&, const BatchSlice& slice, PlanContext& context) const override {
    if (!per_row_) return nullptr;
    return std::make_shared<MapMaker>(slice_of(input_, slice, context), function_,
                                      sliced_spec(spec_), stage_, key_, scratch_, stats_, true);
  }

 private:
  void apply_measured(const ScratchElement& in, ElementWriter& out, Rng& rng) const {
    MeasuredWriter measured(out);
    measure(measured, [&] {
      function_->apply(in.views(), measured, rng);
      return 1;
    });
    stats_.sample_period.store(stats_.mean_ns() < kAlwaysMeasured ? kSamplePeriod : 1,
                               std::memory_order_relaxed);
  }
  int64_t apply_measured(Records records, ElementWriter& out) const {
    MeasuredWriter measured(out);
    return measure(measured, [&] { return of_records_->apply_records(records, measured); });
  }

  // `call` makes some elements of one size through `out`, and says how many.
  template <class F>
  int64_t measure(const MeasuredWriter& out, F call) const {
    bool with_cpu = stats_.cpu_sampled.value() * kCpuPeriod <= stats_.sampled.value();
    int64_t cpu = with_cpu ? thread_cpu_ns() : 0, begin = steady_clock().now();
    int64_t made = call(), ns = steady_clock().now() - begin;
    if (made == 0) return 0;
    trace_span(stats_.name, begin, begin + ns);
    if (with_cpu) {
      stats_.cpu_ns.add(thread_cpu_ns() - cpu);
      stats_.cpu_sampled_ns.add(ns);
      stats_.cpu_sampled.add(made);
    }
    if (ns / made > stats_.longest_ns.load(std::memory_order_relaxed))
      stats_.longest_ns.store(ns / made);
    stats_.sampled_ns.add(ns);
    stats_.sampled.add(made);
    stats_.bytes.add(out.bytes * made);
    return made;
  }

  FunctionRef function_;
  const RecordFunction* of_records_;  // the same function; null: it takes one element at a time
  ElementSpec spec_;
  StageStats& stats_;
  bool per_row_;
};

class MapNode final : public Node {
 public:
  MapNode(const NodeRef& input, FunctionRef function, MapOptions options)
      : Node("map", {input}, infer(*input, *function, options), input->cardinality(),
             input->random_access()),
        name_(options.name.empty() ? function->name() : options.name),
        function_(std::move(function)),
        options_(std::move(options)) {}

  std::string details() const override {
    std::string text = fmt::format("\"{}\"", name_);
    if (options_.parallel != AUTOTUNE) text += fmt::format(", parallel = {}", options_.parallel);
    if (!options_.deterministic) text += ", deterministic = false";
    return text;
  }

  bool draws_at_random() const override { return function_->is_random(); }
  // How many are made at the same time does not change what comes out.
  std::string identity() const override { return function_->name(); }
  std::string recipe() const override {
    std::string known = function_->identity();
    return known.empty() ? fmt::format("\"{}\"", function_->name()) : known;
  }
  const std::type_info* unknown_code() const override {
    const ElementFunction& applied = *function_;
    return applied.identity().empty() ? &typeid(applied) : nullptr;
  }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input_with_gaps(*this);
    std::string stage = fmt::format("map(\"{}\")", name_);
    StageStats& stats = context.statistics.stage(*this, stage);
    stats.random = function_->is_random();
    // Random numbers are drawn for a batch, row after row: those of a slice would be others.
    bool per_row = options_.per_row && !function_->is_random();
    planned.maker =
        std::make_shared<MapMaker>(std::move(planned.maker), function_, spec(), stage,
                                   context.key(*this), context.new_scratch(), stats, per_row);
    WorkLimits& limits = planned.limits;
    bool automatic = options_.parallel == AUTOTUNE;
    limits.join({.some_auto = automatic,
                 .some_stated = !automatic,
                 .workers = automatic ? 1 : options_.parallel,
                 .ordered = options_.deterministic});
    if (context.unfused()) return context.materialised(std::move(planned), *this);
    return planned;
  }

 private:
  static ElementSpec infer(const Node& input, const ElementFunction& function,
                           const MapOptions& options) {
    if (options.parallel != AUTOTUNE && options.parallel < 1)
      throw ValueError(fmt::format("map(\"{}\"): parallel is {}, expected at least 1 or AUTOTUNE",
                                   function.name(), options.parallel));
    try {
      return function.infer(input.spec());
    } catch (const ShapeError& error) {
      throw ShapeError(fmt::format("map after {}: {}", input.kind(), error.what()));
    }
  }

  std::string name_;
  FunctionRef function_;
  MapOptions options_;
};

}  // namespace

Dataset Dataset::map(FunctionRef function, const MapOptions& options) const {
  return Dataset(std::make_shared<MapNode>(node_, std::move(function), options));
}

Dataset Dataset::map(const image::Op& op, const MapOptions& options) const {
  return map(0, op, options);
}

Dataset Dataset::map(size_t component, const image::Op& op, const MapOptions& options) const {
  return map(as_function(op, component), options);
}

}  // namespace stoker::data
