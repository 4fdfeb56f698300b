// repeat: epoch after epoch of the input, as one.
#include "data/ops/check_count.h"
#include "data/runtime/positions.h"

namespace stoker::data {

namespace {

class RepeatTickets final : public Tickets {
 public:
  RepeatTickets(std::unique_ptr<Tickets> input, int64_t count)
      : input_(std::move(input)), count_(count) {}
  void begin(int64_t epoch) override {
    // Without end there is only one epoch; its repetitions are the input's epochs.
    epoch_ = count_ < 0 ? 0 : epoch * count_;
    done_ = 0;
    empty_ = 0;
    if (count_ != 0) input_->begin(epoch_);
  }
  bool next(Ticket& ticket) override {
    while ((count_ < 0 || done_ < count_) && empty_ <= kMostEmpty) {
      if (input_->next(ticket)) {
        empty_ = 0;
        return true;
      }
      ++empty_;
      if (++done_ != count_) input_->begin(++epoch_);
    }
    return false;
  }

 private:
  std::unique_ptr<Tickets> input_;
  // A random filter may leave nothing of one epoch; what was empty as often as this stays empty.
  static constexpr int kMostEmpty = 50;
  int64_t count_, epoch_ = 0, done_ = 0;
  int empty_ =
      0;  // repetitions since the last element; the one that is under way counts at its end
};

class RepeatNode final : public Node {
 public:
  RepeatNode(const NodeRef& input, int64_t count)
      : Node("repeat", {input}, input->spec(), repeated(input->cardinality(), count),
             input->random_access()),
        count_(count) {}
  std::string details() const override { return count_ < 0 ? "" : std::to_string(count_); }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input_with_gaps(*this);
    if (!planned.length) {
      planned.stream = std::make_unique<RepeatTickets>(std::move(planned.stream), count_);
      return planned;
    }
    int64_t length = *planned.length;
    if (length == 0 || length == Cardinality::kInfinite) {
      if (count_ == 0) planned.length = 0;
      return planned;
    }
    int64_t total = count_ < 0 ? Cardinality::kInfinite : product(length, count_);
    return placed(std::move(planned), total,
                  [length, count = count_](int64_t& epoch, int64_t& index) {
                    epoch = (count < 0 ? 0 : epoch * count) + index / length;
                    index %= length;
                  });
  }

 private:
  static Cardinality repeated(Cardinality of, int64_t count) {
    if (count == 0 || of.count == 0) return {0};
    if (count < 0) return {Cardinality::kInfinite};
    return counted(of, [&](int64_t n) { return product(n, count); });
  }
  int64_t count_;
};

}  // namespace

Dataset Dataset::repeat(int64_t count) const {
  check_count("repeat", count, -1);
  return Dataset(std::make_shared<RepeatNode>(node_, count));
}

}  // namespace stoker::data
