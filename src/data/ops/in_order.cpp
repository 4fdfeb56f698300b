#include "data/ops/in_order.h"

#include "data/runtime/addresses.h"

namespace stoker::data {

namespace {

class PassTickets final : public Tickets {
 public:
  PassTickets(std::unique_ptr<Tickets> input, BeginPass begin, std::string stage)
      : input_(std::move(input)), begin_(std::move(begin)), stage_(std::move(stage)) {}

  void begin(int64_t epoch) override {
    input_->begin(epoch);
    pass_ = begin_(epoch);
    ended_ = false;
  }
  bool next(Ticket& ticket) override {
    while (!ended_ && input_->next(ticket)) {
      if (ticket.held->error) return true;
      switch (see(ticket)) {
        case Verdict::keep:
          return true;
        case Verdict::drop:
          break;
        case Verdict::end:
          ended_ = true;
      }
    }
    ended_ = true;
    return false;
  }

 private:
  Verdict see(Ticket& ticket) {
    try {
      return pass_->see(ticket);
    } catch (...) {
      auto failed = std::make_shared<Held>();
      failed->error = addressed_error(stage_, ticket.epoch, ticket.index, "");
      ticket.held = std::move(failed);
      return Verdict::keep;
    }
  }

  std::unique_ptr<Tickets> input_;
  BeginPass begin_;
  std::string stage_;
  std::unique_ptr<Pass> pass_;
  bool ended_ = false;
};

}  // namespace

Planned in_order(const Node& node, PlanContext& context, BeginPass begin) {
  Planned planned = context.materialised(context.plan_input(node), *node.input());
  if (planned.replay.empty()) planned.replay = title(node) + " decides element by element";
  planned.stream =
      std::make_unique<PassTickets>(std::move(planned.stream), std::move(begin), title(node));
  return planned;
}

ElementSpec with_front(const TensorSpec& front, const ElementSpec& rest) {
  ElementSpec spec{front};
  spec.insert(spec.end(), rest.begin(), rest.end());
  return spec;
}

}  // namespace stoker::data
