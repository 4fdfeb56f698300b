// zip: elements of several datasets side by side.
#include <algorithm>

#include "data/node.h"
#include "data/runtime/planning.h"
#include "data/runtime/slicing.h"

namespace stoker::data {

namespace {

// Tickets with one part per input.
class SideTickets final : public Tickets {
 public:
  explicit SideTickets(std::vector<std::unique_ptr<Tickets>> sides) : sides_(std::move(sides)) {}
  void begin(int64_t epoch) override {
    for (auto& side : sides_) side->begin(epoch);
    epoch_ = epoch;
    index_ = 0;
  }
  bool next(Ticket& ticket) override {
    auto held = std::make_shared<Held>();
    held->parts.resize(sides_.size());
    for (size_t i = 0; i < sides_.size(); ++i)
      if (!sides_[i]->next(held->parts[i])) return false;
    ticket = {epoch_, index_++, 0, std::move(held)};
    return true;
  }
  void skip(int64_t count) override {
    for (auto& side : sides_) side->skip(count);
    index_ = sum(index_, count);
  }

 private:
  std::vector<std::unique_ptr<Tickets>> sides_;
  int64_t epoch_ = 0, index_ = 0;
};

class ZipMaker final : public Maker {
 public:
  ZipMaker(std::vector<MakerRef> sides, std::vector<size_t> shifts)
      : sides_(std::move(sides)), shifts_(std::move(shifts)) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    Made made{ticket.epoch, ticket.index};
    for (size_t i = 0; i < sides_.size(); ++i) {
      ShiftedWriter side(out, shifts_[i]);
      made.whole =
          sides_[i]->make(ticket.held ? ticket.held->parts[i] : ticket, side, worker).whole;
    }
    return made;
  }
  std::string origin(const Ticket& ticket) const override {
    std::string text;
    for (size_t i = 0; i < sides_.size() && text.empty(); ++i)
      text = sides_[i]->origin(ticket.held ? ticket.held->parts[i] : ticket);
    return text;
  }
  MakerRef sliced(const MakerRef&, const BatchSlice& slice, PlanContext& context) const override {
    std::vector<MakerRef> sides;
    for (const MakerRef& side : sides_) sides.push_back(slice_of(side, slice, context));
    return std::make_shared<ZipMaker>(std::move(sides), shifts_);
  }

 private:
  std::vector<MakerRef> sides_;
  std::vector<size_t> shifts_;
};

class ZipNode final : public Node {
 public:
  explicit ZipNode(std::vector<NodeRef> inputs)
      : Node("zip", inputs, all_components(inputs), shortest(inputs), all_random_access(inputs)) {}

  Planned plan(PlanContext& context) const override {
    std::vector<Planned> sides;
    bool counted = true;
    for (size_t i = 0; i < inputs().size(); ++i) {
      sides.push_back(context.plan_input(*this, i));
      counted = counted && sides.back().length.has_value();
    }
    Planned planned;
    std::vector<MakerRef> makers;
    std::vector<size_t> shifts;
    std::vector<std::unique_ptr<Tickets>> tickets;
    size_t shift = 0;
    for (size_t i = 0; i < sides.size(); ++i) {
      makers.push_back(sides[i].maker);
      shifts.push_back(shift);
      shift += inputs()[i]->spec().size();
      planned.limits.join(sides[i].limits);
      if (planned.replay.empty()) planned.replay = sides[i].replay;
      if (counted)
        planned.length =
            std::min(planned.length.value_or(Cardinality::kInfinite), *sides[i].length);
      else
        tickets.push_back(sides[i].tickets());
    }
    if (!counted) planned.stream = std::make_unique<SideTickets>(std::move(tickets));
    planned.maker = std::make_shared<ZipMaker>(std::move(makers), std::move(shifts));
    return planned;
  }

 private:
  static ElementSpec all_components(const std::vector<NodeRef>& inputs) {
    ElementSpec spec;
    for (const NodeRef& input : inputs)
      spec.insert(spec.end(), input->spec().begin(), input->spec().end());
    return spec;
  }
  static Cardinality shortest(const std::vector<NodeRef>& inputs) {
    Cardinality least{Cardinality::kInfinite};
    for (const NodeRef& input : inputs) {
      if (!input->cardinality().known()) return {};
      least.count = std::min(*least.count, *input->cardinality().count);
    }
    return least;
  }
  static bool all_random_access(const std::vector<NodeRef>& inputs) {
    return std::all_of(inputs.begin(), inputs.end(),
                       [](const NodeRef& input) { return input->random_access(); });
  }
};

}  // namespace

Dataset zip(const std::vector<Dataset>& datasets) {
  if (datasets.empty()) throw ValueError("zip: no datasets were given");
  std::vector<NodeRef> inputs;
  for (const Dataset& dataset : datasets) inputs.push_back(dataset.node());
  return Dataset(std::make_shared<ZipNode>(std::move(inputs)));
}

}  // namespace stoker::data
