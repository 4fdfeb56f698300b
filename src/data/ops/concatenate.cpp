// concatenate: one dataset after the other.
#include <fmt/format.h>

#include "data/node.h"
#include "data/ops/common_spec.h"
#include "data/runtime/planning.h"
#include "data/runtime/slicing.h"

namespace stoker::data {

namespace {

class ChainTickets final : public Tickets {
 public:
  explicit ChainTickets(std::vector<std::unique_ptr<Tickets>> inputs)
      : inputs_(std::move(inputs)) {}
  void begin(int64_t epoch) override {
    epoch_ = epoch;
    index_ = 0;
    at_ = 0;
    inputs_[0]->begin(epoch);
  }
  bool next(Ticket& ticket) override {
    auto held = std::make_shared<Held>();
    held->parts.resize(1);
    while (!inputs_[at_]->next(held->parts[0])) {
      if (at_ + 1 == inputs_.size()) return false;
      inputs_[++at_]->begin(epoch_);
    }
    ticket = {epoch_, index_++, int64_t(at_), std::move(held)};
    return true;
  }

 private:
  std::vector<std::unique_ptr<Tickets>> inputs_;
  size_t at_ = 0;
  int64_t epoch_ = 0, index_ = 0;
};

// Elements are numbered through, so that those of the second dataset have random numbers of their
// own further on.
class ChainMaker final : public Maker {
 public:
  ChainMaker(MakerRef first, MakerRef second, std::optional<int64_t> border)
      : first_(std::move(first)), second_(std::move(second)), border_(border) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    auto [maker, part] = side(ticket);
    Made made = maker->make(part, out, worker);
    made.epoch = ticket.epoch;
    made.index = ticket.index;
    return made;
  }
  std::string origin(const Ticket& ticket) const override {
    auto [maker, part] = side(ticket);
    return maker->origin(part);
  }
  MakerRef sliced(const MakerRef&, const BatchSlice& slice, PlanContext& context) const override {
    return std::make_shared<ChainMaker>(slice_of(first_, slice, context),
                                        slice_of(second_, slice, context), border_);
  }

 private:
  std::pair<const Maker*, Ticket> side(const Ticket& ticket) const {
    if (ticket.held) return {(ticket.choice == 0 ? first_ : second_).get(), ticket.held->parts[0]};
    if (ticket.index < *border_) return {first_.get(), ticket};
    return {second_.get(), {.epoch = ticket.epoch, .index = ticket.index - *border_}};
  }

  MakerRef first_, second_;
  std::optional<int64_t> border_;
};

class ConcatenateNode final : public Node {
 public:
  ConcatenateNode(const NodeRef& first, const NodeRef& second)
      : Node("concatenate", {first, second}, common_spec("concatenate", {first, second}),
             total(first->cardinality(), second->cardinality()),
             first->random_access() && second->random_access() &&
                 !first->cardinality().infinite()) {}

  Planned plan(PlanContext& context) const override {
    Planned first = context.plan_input_with_gaps(*this, 0),
            second = context.plan_input_with_gaps(*this, 1), planned;
    planned.may_drop = first.may_drop || second.may_drop;
    planned.limits = first.limits;
    planned.limits.join(second.limits);
    planned.replay = first.replay.empty() ? second.replay : first.replay;
    std::optional<int64_t> border;
    bool counted = first.length && second.length && *first.length != Cardinality::kInfinite;
    if (counted) {
      border = first.length;
      planned.length = *total({*first.length}, {*second.length}).count;
    } else {
      std::vector<std::unique_ptr<Tickets>> inputs;
      inputs.push_back(first.tickets());
      inputs.push_back(second.tickets());
      planned.stream = std::make_unique<ChainTickets>(std::move(inputs));
    }
    planned.maker = std::make_shared<ChainMaker>(first.maker, second.maker, border);
    return planned;
  }

 private:
  static Cardinality total(Cardinality a, Cardinality b) {
    if (a.infinite() || b.infinite()) return {Cardinality::kInfinite};
    if (!a.known() || !b.known()) return {};
    return {sum(*a.count, *b.count)};
  }
};

}  // namespace

ElementSpec common_spec(const std::string& op, const ElementSpec& a, const ElementSpec& b) {
  bool fits = a.size() == b.size();
  for (size_t i = 0; fits && i < a.size(); ++i)
    fits = a[i].dtype == b[i].dtype && a[i].shape.rank() == b[i].shape.rank();
  if (!fits)
    throw ShapeError(fmt::format("{}: elements of the first are {}, of another {}", op,
                                 to_string(a), to_string(b)));
  ElementSpec spec = a;
  for (size_t i = 0; i < a.size(); ++i)
    for (int axis = 0; axis < a[i].shape.rank(); ++axis)
      if (a[i].shape[axis] != b[i].shape[axis]) spec[i].shape.set(axis, -1);
  return spec;
}

ElementSpec common_spec(const std::string& op, const std::vector<NodeRef>& nodes) {
  ElementSpec spec = nodes[0]->spec();
  for (const NodeRef& node : nodes) spec = common_spec(op, spec, node->spec());
  return spec;
}

Dataset Dataset::concatenate(const Dataset& next) const {
  return Dataset(std::make_shared<ConcatenateNode>(node_, next.node()));
}

}  // namespace stoker::data
