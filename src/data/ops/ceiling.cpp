// ceiling: the first elements again and again, without making them anew.
#include <fmt/format.h>

#include "data/node.h"
#include "data/runtime/planning.h"

namespace stoker::data {

namespace {

class CeilingTickets final : public Tickets {
 public:
  CeilingTickets(std::unique_ptr<Tickets> input, int64_t keep)
      : input_(std::move(input)), keep_(size_t(keep)) {}

  void begin(int64_t epoch) override {
    epoch_ = epoch;
    index_ = 0;
    if (length_ < 0) input_->begin(epoch);
  }
  // As many as the input has, where that is known; else as many as the first epoch gave.
  bool next(Ticket& ticket) override {
    if (kept_.size() < keep_ && length_ < 0) {
      Ticket fresh;
      if (input_->next(fresh)) {
        kept_.push_back(fresh);
      } else {
        length_ = index_;
        return false;
      }
    }
    if (kept_.empty() || (length_ >= 0 && index_ >= length_)) return false;
    ticket = kept_[size_t(index_) % kept_.size()];
    ticket.epoch = epoch_;
    ++index_;
    return true;
  }

 private:
  std::unique_ptr<Tickets> input_;
  size_t keep_;
  std::vector<Ticket> kept_;
  int64_t epoch_ = 0, index_ = 0, length_ = -1;
};

class CeilingNode final : public Node {
 public:
  CeilingNode(const NodeRef& input, int64_t keep)
      : Node("ceiling", {input}, input->spec(), input->cardinality(), false), keep_(keep) {}
  std::string details() const override { return std::to_string(keep_); }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.materialised(context.plan_input(*this), *input());
    planned.stream = std::make_unique<CeilingTickets>(std::move(planned.stream), keep_);
    return planned;
  }

 private:
  int64_t keep_;
};

}  // namespace

Dataset Dataset::ceiling(int64_t batches) const {
  if (batches < 1) throw ValueError(fmt::format("ceiling({}): expected at least 1", batches));
  Dataset endless(std::make_shared<CeilingNode>(node_, batches));
  Cardinality count = cardinality();
  return count.known() && !count.infinite() ? endless.take(*count.count) : endless;
}

}  // namespace stoker::data
