// zip: elements of several datasets side by side. concatenate: one dataset after the other.
// enumerate: a number in front.
#include <fmt/format.h>

#include "data/node.h"
#include "data/runtime/plan.h"

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
    for (size_t i = 0; i < sides_.size(); ++i) {
      ShiftedWriter side(out, shifts_[i]);
      sides_[i]->make(ticket.held ? ticket.held->parts[i] : ticket, side, worker);
    }
    return {ticket.epoch, ticket.index};
  }
  std::string origin(const Ticket& ticket) const override {
    std::string text;
    for (size_t i = 0; i < sides_.size() && text.empty(); ++i)
      text = sides_[i]->origin(ticket.held ? ticket.held->parts[i] : ticket);
    return text;
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
      sides.push_back(inputs().size() == 1 ? inputs()[0]->plan(context)
                                           : context.plan_input(*this, i));
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
    maker->make(part, out, worker);
    return {ticket.epoch, ticket.index};
  }
  std::string origin(const Ticket& ticket) const override {
    auto [maker, part] = side(ticket);
    return maker->origin(part);
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
      : Node("concatenate", {first, second}, common(first->spec(), second->spec()),
             total(first->cardinality(), second->cardinality()),
             first->random_access() && second->random_access() &&
                 !first->cardinality().infinite()) {}

  Planned plan(PlanContext& context) const override {
    Planned first = context.plan_input(*this, 0), second = context.plan_input(*this, 1), planned;
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
  static ElementSpec common(const ElementSpec& a, const ElementSpec& b) {
    bool fits = a.size() == b.size();
    for (size_t i = 0; fits && i < a.size(); ++i)
      fits = a[i].dtype == b[i].dtype && a[i].shape.rank() == b[i].shape.rank();
    if (!fits)
      throw ShapeError(fmt::format("concatenate: elements of the first are {}, of the second {}",
                                   to_string(a), to_string(b)));
    ElementSpec spec = a;
    for (size_t i = 0; i < a.size(); ++i)
      for (int axis = 0; axis < a[i].shape.rank(); ++axis)
        if (a[i].shape[axis] != b[i].shape[axis]) spec[i].shape.set(axis, -1);
    return spec;
  }
  static Cardinality total(Cardinality a, Cardinality b) {
    if (a.infinite() || b.infinite()) return {Cardinality::kInfinite};
    if (!a.known() || !b.known()) return {};
    return {sum(*a.count, *b.count)};
  }
};

class NumberedTickets final : public Tickets {
 public:
  explicit NumberedTickets(std::unique_ptr<Tickets> input) : input_(std::move(input)) {}
  void begin(int64_t epoch) override {
    input_->begin(epoch);
    epoch_ = epoch;
    index_ = 0;
  }
  bool next(Ticket& ticket) override {
    auto held = std::make_shared<Held>();
    held->parts.resize(1);
    if (!input_->next(held->parts[0])) return false;
    ticket = {epoch_, index_++, 0, std::move(held)};
    return true;
  }
  void skip(int64_t count) override {
    input_->skip(count);
    index_ = sum(index_, count);
  }

 private:
  std::unique_ptr<Tickets> input_;
  int64_t epoch_ = 0, index_ = 0;
};

class EnumerateMaker final : public Maker {
 public:
  EnumerateMaker(MakerRef input, int64_t start) : input_(std::move(input)), start_(start) {}
  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    *static_cast<int64_t*>(out.put(0, DType::int64, {})) = start_ + ticket.index;
    ShiftedWriter rest(out, 1);
    return input_->make(ticket.held ? ticket.held->parts[0] : ticket, rest, worker);
  }
  std::string origin(const Ticket& ticket) const override {
    return input_->origin(ticket.held ? ticket.held->parts[0] : ticket);
  }

 private:
  MakerRef input_;
  int64_t start_;
};

class EnumerateNode final : public Node {
 public:
  EnumerateNode(const NodeRef& input, int64_t start)
      : Node("enumerate", {input}, numbered(input->spec()), input->cardinality(),
             input->random_access()),
        start_(start) {}
  std::string details() const override { return start_ == 0 ? "" : std::to_string(start_); }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    if (!planned.length)
      planned.stream = std::make_unique<NumberedTickets>(std::move(planned.stream));
    planned.maker = std::make_shared<EnumerateMaker>(std::move(planned.maker), start_);
    return planned;
  }

 private:
  static ElementSpec numbered(const ElementSpec& of) {
    ElementSpec spec{{DType::int64, {}}};
    spec.insert(spec.end(), of.begin(), of.end());
    return spec;
  }
  int64_t start_;
};

}  // namespace

Dataset zip(const std::vector<Dataset>& datasets) {
  if (datasets.empty()) throw ValueError("zip: no datasets were given");
  std::vector<NodeRef> inputs;
  for (const Dataset& dataset : datasets) inputs.push_back(dataset.node());
  return Dataset(std::make_shared<ZipNode>(std::move(inputs)));
}

Dataset Dataset::concatenate(const Dataset& next) const {
  return Dataset(std::make_shared<ConcatenateNode>(node_, next.node()));
}

Dataset Dataset::enumerate(int64_t start) const {
  return Dataset(std::make_shared<EnumerateNode>(node_, start));
}

}  // namespace stoker::data
