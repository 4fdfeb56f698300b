// sample_from_datasets and choose_from_datasets: the next element comes from one of several datasets,
// by a draw or as another dataset says.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <stoker/mixing.h>

#include "data/node.h"
#include "data/ops/common_spec.h"
#include "data/runtime/addresses.h"
#include "data/runtime/planning.h"
#include "data/runtime/slicing.h"

namespace stoker::data {

namespace {

// Says which dataset comes next.
class Chooser {
 public:
  virtual ~Chooser() = default;
  virtual void begin(int64_t epoch) = 0;
  // None: the end. `open`: which datasets have not ended.
  virtual std::optional<size_t> next(const std::vector<bool>& open) = 0;
};

class DrawingChooser final : public Chooser {
 public:
  DrawingChooser(std::vector<double> weights, uint64_t key, bool rerandomize)
      : weights_(std::move(weights)), key_(key), rerandomize_(rerandomize) {}
  void begin(int64_t epoch) override {
    rng_ = Rng(mixed(key_, rerandomize_ ? uint64_t(epoch) : 0));
  }
  std::optional<size_t> next(const std::vector<bool>& open) override {
    double total = 0;
    for (size_t i = 0; i < weights_.size(); ++i) total += open[i] ? weights_[i] : 0;
    if (total <= 0) return {};
    double drawn = double(rng_.uniform()) * total;
    size_t last = 0;
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (!open[i] || weights_[i] == 0) continue;
      last = i;
      if (drawn < weights_[i]) return i;
      drawn -= weights_[i];
    }
    return last;
  }

 private:
  std::vector<double> weights_;
  uint64_t key_;
  bool rerandomize_;
  Rng rng_{0};
};

class ListedChooser final : public Chooser {
 public:
  ListedChooser(std::unique_ptr<Tickets> choices, size_t datasets)
      : choices_(std::move(choices)), datasets_(datasets) {}
  void begin(int64_t epoch) override { choices_->begin(epoch); }
  std::optional<size_t> next(const std::vector<bool>&) override {
    Ticket ticket;
    if (!choices_->next(ticket)) return {};
    int64_t choice = ticket.held->value()[0].data<int64_t>()[0];
    if (choice < 0 || choice >= int64_t(datasets_))
      throw ValueError(fmt::format("a choice is {}, but there are {} datasets: 0 … {}", choice,
                                   datasets_, datasets_ - 1));
    return size_t(choice);
  }

 private:
  std::unique_ptr<Tickets> choices_;
  size_t datasets_;
};

// Its tickets hold one of an input, and which input as their choice.
class ChosenTickets final : public Tickets {
 public:
  ChosenTickets(std::vector<std::unique_ptr<Tickets>> inputs, std::unique_ptr<Chooser> chooser,
                bool stop_on_empty, std::string stage)
      : inputs_(std::move(inputs)),
        chooser_(std::move(chooser)),
        stop_on_empty_(stop_on_empty),
        stage_(std::move(stage)) {}

  void begin(int64_t epoch) override {
    for (auto& input : inputs_) input->begin(epoch);
    chooser_->begin(epoch);
    open_.assign(inputs_.size(), true);
    epoch_ = epoch;
    index_ = 0;
    ended_ = false;
  }
  bool next(Ticket& ticket) override {
    auto held = std::make_shared<Held>();
    held->parts.resize(1);
    size_t choice = 0;
    try {
      if (!choose(held->parts[0], choice)) return false;
    } catch (...) {
      held->error = addressed_error(stage_, epoch_, index_, "");
    }
    ticket = {epoch_, index_++, int64_t(choice), std::move(held)};
    return true;
  }

 private:
  bool choose(Ticket& part, size_t& choice) {
    while (!ended_ && std::ranges::find(open_, true) != open_.end()) {
      std::optional<size_t> chosen = chooser_->next(stop_on_empty_ ? all_ : open_);
      if (!chosen) break;
      choice = *chosen;
      if (open_[choice] && inputs_[choice]->next(part)) return true;
      open_[choice] = false;
      ended_ = stop_on_empty_;
    }
    ended_ = true;
    return false;
  }

  std::vector<std::unique_ptr<Tickets>> inputs_;
  std::unique_ptr<Chooser> chooser_;
  bool stop_on_empty_;
  std::string stage_;
  std::vector<bool> open_, all_ = std::vector<bool>(inputs_.size(), true);
  int64_t epoch_ = 0, index_ = 0;
  bool ended_ = false;
};

class ChosenMaker final : public Maker {
 public:
  explicit ChosenMaker(std::vector<MakerRef> inputs) : inputs_(std::move(inputs)) {}
  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    ticket.held->value();  // throws where there is none
    Made made = inputs_[size_t(ticket.choice)]->make(ticket.held->parts[0], out, worker);
    return {.epoch = ticket.epoch, .index = ticket.index, .whole = made.whole};
  }
  std::string origin(const Ticket& ticket) const override {
    if (ticket.held->error) return {};
    return inputs_[size_t(ticket.choice)]->origin(ticket.held->parts[0]);
  }
  MakerRef sliced(const MakerRef&, const BatchSlice& slice, PlanContext& context) const override {
    std::vector<MakerRef> inputs;
    for (const MakerRef& input : inputs_) inputs.push_back(slice_of(input, slice, context));
    return std::make_shared<ChosenMaker>(std::move(inputs));
  }

 private:
  std::vector<MakerRef> inputs_;
};

// The plans of the first `count` inputs, side by side.
struct Sides {
  std::vector<MakerRef> makers;
  std::vector<std::unique_ptr<Tickets>> tickets;
  Planned planned;  // limits and replay
};
Sides plan_sides(const Node& node, size_t count, PlanContext& context) {
  Sides sides;
  for (size_t i = 0; i < count; ++i) {
    Planned side =
        node.inputs().size() == 1 ? node.input()->plan(context) : context.plan_input(node, i);
    if (side.may_drop) side = context.materialised(std::move(side), *node.inputs()[i]);
    sides.makers.push_back(side.maker);
    sides.planned.limits.join(side.limits);
    if (sides.planned.replay.empty()) sides.planned.replay = side.replay;
    sides.tickets.push_back(side.tickets());
  }
  return sides;
}

Planned chosen(Sides sides, std::unique_ptr<Chooser> chooser, bool stop_on_empty,
               const Node& node) {
  Planned planned = std::move(sides.planned);
  planned.maker = std::make_shared<ChosenMaker>(std::move(sides.makers));
  planned.stream = std::make_unique<ChosenTickets>(std::move(sides.tickets), std::move(chooser),
                                                   stop_on_empty, title(node));
  return planned;
}

class SampleNode final : public Node {
 public:
  SampleNode(std::vector<NodeRef> inputs, SampleOptions options)
      : Node("sample_from_datasets", inputs, common_spec("sample_from_datasets", inputs),
             count(inputs, options), false),
        options_(std::move(options)) {}
  std::string details() const override {
    std::string text = fmt::format("weights = {{{}}}", fmt::join(options_.weights, ", "));
    if (options_.seed) text += fmt::format(", seed = {}", *options_.seed);
    if (options_.stop_on_empty_dataset) text += ", stop_on_empty_dataset = true";
    return text +
           (options_.rerandomize_each_iteration ? "" : ", rerandomize_each_iteration = false");
  }
  bool draws_at_random() const override { return !options_.seed; }
  Planned plan(PlanContext& context) const override {
    uint64_t key = options_.seed ? mixed(*options_.seed, 0x5A) : context.key(*this);
    auto chooser = std::make_unique<DrawingChooser>(options_.weights, key,
                                                    options_.rerandomize_each_iteration);
    return chosen(plan_sides(*this, inputs().size(), context), std::move(chooser),
                  options_.stop_on_empty_dataset, *this);
  }

 private:
  // Of all together where all are walked to their end.
  static Cardinality count(const std::vector<NodeRef>& inputs, const SampleOptions& options) {
    int64_t total = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Cardinality one = inputs[i]->cardinality();
      if (options.weights[i] == 0) continue;
      if (!one.known() || (options.stop_on_empty_dataset && !one.infinite())) return {};
      total = sum(total, *one.count);
    }
    return {total};
  }
  SampleOptions options_;
};

class ChooseNode final : public Node {
 public:
  // The last input holds the choices.
  ChooseNode(std::vector<NodeRef> inputs, ChooseOptions options)
      : Node("choose_from_datasets", inputs,
             common_spec("choose_from_datasets", {inputs.begin(), inputs.end() - 1}), {}, false),
        options_(options) {}
  std::string details() const override {
    return options_.stop_on_empty_dataset ? "" : "stop_on_empty_dataset = false";
  }
  Planned plan(PlanContext& context) const override {
    size_t datasets = inputs().size() - 1;
    Sides sides = plan_sides(*this, datasets, context);
    Planned choices =
        context.materialised(context.plan_input(*this, datasets), *inputs()[datasets]);
    if (sides.planned.replay.empty()) sides.planned.replay = choices.replay;
    auto chooser = std::make_unique<ListedChooser>(std::move(choices.stream), datasets);
    return chosen(std::move(sides), std::move(chooser), options_.stop_on_empty_dataset, *this);
  }

 private:
  ChooseOptions options_;
};

std::vector<NodeRef> nodes_of(const std::vector<Dataset>& datasets, const char* op) {
  if (datasets.empty()) throw ValueError(fmt::format("{}: no datasets were given", op));
  std::vector<NodeRef> nodes;
  for (const Dataset& dataset : datasets) nodes.push_back(dataset.node());
  return nodes;
}

}  // namespace

Dataset sample_from_datasets(const std::vector<Dataset>& datasets, const SampleOptions& options) {
  SampleOptions checked = options;
  std::vector<double>& weights = checked.weights;
  if (weights.empty()) weights.assign(datasets.size(), 1.0);
  bool fits = weights.size() == datasets.size() && std::ranges::all_of(weights, [](double weight) {
                return std::isfinite(weight) && weight >= 0;
              });
  if (!fits || (!weights.empty() && std::ranges::max(weights) == 0))
    throw ValueError(fmt::format(
        "sample_from_datasets: weights are {{{}}}, expected {} numbers of 0 or more, one per "
        "dataset, not all 0",
        fmt::join(weights, ", "), datasets.size()));
  return Dataset(std::make_shared<SampleNode>(nodes_of(datasets, "sample_from_datasets"), checked));
}

Dataset choose_from_datasets(const std::vector<Dataset>& datasets, const Dataset& choices,
                             const ChooseOptions& options) {
  std::vector<NodeRef> nodes = nodes_of(datasets, "choose_from_datasets");
  if (choices.spec() != ElementSpec{{DType::int64, {}}})
    throw ShapeError(fmt::format("choose_from_datasets: choices are {}, expected (int64[])",
                                 to_string(choices.spec())));
  nodes.push_back(choices.node());
  return Dataset(std::make_shared<ChooseNode>(std::move(nodes), options));
}

}  // namespace stoker::data
