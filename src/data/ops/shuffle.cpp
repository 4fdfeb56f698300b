// shuffle, exact on random access and from a window on streams.
#include <fmt/format.h>

#include "data/ops/check_count.h"
#include "data/runtime/permutation.h"
#include "data/runtime/positions.h"

namespace stoker::data {

namespace {

uint64_t shuffle_key(const ShuffleOptions& options, const PlanContext& context, const Node& node) {
  return options.seed ? mixed(*options.seed, 0x5F) : context.key(node);
}

std::string shuffle_details(const ShuffleOptions& options) {
  std::string text = options.seed ? fmt::format("seed = {}", *options.seed) : "";
  if (!options.reshuffle_each_epoch)
    text += std::string(text.empty() ? "" : ", ") + "reshuffle_each_epoch = false";
  return text;
}

class ExactShuffleNode final : public Node {
 public:
  ExactShuffleNode(const NodeRef& input, ShuffleOptions options)
      : Node("shuffle", {input}, input->spec(), input->cardinality(), true), options_(options) {
    if (!input->random_access())
      throw ValueError(fmt::format(
          "shuffle() after {}: an exact shuffle needs random access, which a stream does not have; "
          "put it before, or use shuffle(buffer)",
          title(*input)));
    if (input->cardinality().infinite())
      throw ValueError("shuffle(): the dataset has no end; put repeat() after shuffle()");
  }
  std::string details() const override { return shuffle_details(options_); }
  bool draws_at_random() const override { return !options_.seed; }

  Planned plan(PlanContext& context) const override {
    PlanContext::KeepPositions keep(context);
    Planned planned = context.plan_input(*this);
    int64_t length = *planned.length;
    uint64_t key = shuffle_key(options_, context, *this);
    bool reshuffle = options_.reshuffle_each_epoch;
    return placed(std::move(planned), length, [=](int64_t& epoch, int64_t& index) {
      index = Permutation(length, mixed(key, reshuffle ? uint64_t(epoch) : 0))(index);
    });
  }

 private:
  ShuffleOptions options_;
};

// A window of tickets, from which one is drawn by key and replaced by the next of the input. What
// is held are positions, or what a stream has read: never what a map behind it makes.
class WindowTickets final : public Tickets {
 public:
  WindowTickets(std::unique_ptr<Tickets> input, int64_t size, uint64_t key, bool reshuffle)
      : input_(std::move(input)), size_(size), key_(key), reshuffle_(reshuffle) {}
  void begin(int64_t epoch) override {
    input_->begin(epoch);
    window_.clear();
    rng_ = Rng(mixed(key_, reshuffle_ ? uint64_t(epoch) : 0));
    ended_ = false;
  }
  bool next(Ticket& ticket) override {
    while (!ended_ && int64_t(window_.size()) < size_) {
      Ticket fresh;
      if (input_->next(fresh))
        window_.push_back(std::move(fresh));
      else
        ended_ = true;
    }
    if (window_.empty()) return false;
    auto chosen = size_t(rng_.integer(0, int64_t(window_.size())));
    std::swap(window_[chosen], window_.back());
    ticket = std::move(window_.back());
    window_.pop_back();
    return true;
  }

 private:
  std::unique_ptr<Tickets> input_;
  int64_t size_;
  uint64_t key_;
  bool reshuffle_, ended_ = false;
  std::vector<Ticket> window_;
  Rng rng_{0};
};

class WindowShuffleNode final : public Node {
 public:
  WindowShuffleNode(const NodeRef& input, int64_t size, ShuffleOptions options)
      : Node("shuffle", {input}, input->spec(), input->cardinality(), false),
        size_(size),
        options_(options) {}
  std::string details() const override {
    std::string more = shuffle_details(options_);
    return fmt::format("{}{}{}", size_, more.empty() ? "" : ", ", more);
  }
  bool draws_at_random() const override { return !options_.seed; }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input_with_gaps(*this);
    if (planned.may_drop && !planned.length)
      planned = context.materialised(std::move(planned), *this);
    if (planned.length)
      context.note(fmt::format("{} draws positions: no element is held by it", title(*this)));
    planned.stream = std::make_unique<WindowTickets>(planned.tickets(), size_,
                                                     shuffle_key(options_, context, *this),
                                                     options_.reshuffle_each_epoch);
    planned.length.reset();
    return planned;
  }

 private:
  int64_t size_;
  ShuffleOptions options_;
};

}  // namespace

Dataset Dataset::shuffle(const ShuffleOptions& options) const {
  return Dataset(std::make_shared<ExactShuffleNode>(node_, options));
}

Dataset Dataset::shuffle(int64_t buffer, const ShuffleOptions& options) const {
  check_count("shuffle", buffer, 1);
  return Dataset(std::make_shared<WindowShuffleNode>(node_, buffer, options));
}

}  // namespace stoker::data
