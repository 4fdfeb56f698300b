// enumerate: a number in front.
#include "data/node.h"
#include "data/ops/in_order.h"
#include "data/runtime/planning.h"

namespace stoker::data {

namespace {

class NumberedTickets final : public RenumberedTickets {
 public:
  explicit NumberedTickets(std::unique_ptr<Tickets> input) : RenumberedTickets(std::move(input)) {}
  bool next(Ticket& ticket) override {
    auto held = std::make_shared<Held>();
    held->parts.resize(1);
    if (!input_->next(held->parts[0])) return false;
    ticket = numbered(std::move(held));
    return true;
  }
  void skip(int64_t count) override {
    input_->skip(count);
    index_ = sum(index_, count);
  }
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
      : Node("enumerate", {input}, with_front({DType::int64, {}}, input->spec()),
             input->cardinality(), input->random_access()),
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
  int64_t start_;
};

}  // namespace

Dataset Dataset::enumerate(int64_t start) const {
  return Dataset(std::make_shared<EnumerateNode>(node_, start));
}

}  // namespace stoker::data
