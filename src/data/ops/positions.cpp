#include "data/ops/positions.h"

#include <fmt/format.h>

#include "data/runtime/permutation.h"

namespace stoker::data {

namespace {

// --- take and skip -------------------------------------------------------------------------------

class TakeTickets final : public Tickets {
 public:
  TakeTickets(std::unique_ptr<Tickets> input, int64_t count)
      : input_(std::move(input)), count_(count) {}
  void begin(int64_t epoch) override { input_->begin(epoch), left_ = count_; }
  bool next(Ticket& ticket) override {
    if (left_ == 0) return false;
    --left_;
    return input_->next(ticket);
  }
  void skip(int64_t count) override {
    input_->skip(std::min(count, left_));
    left_ -= std::min(count, left_);
  }

 private:
  std::unique_ptr<Tickets> input_;
  int64_t count_, left_ = 0;
};

class TakeNode final : public Node {
 public:
  TakeNode(const NodeRef& input, int64_t count)
      : Node("take", {input}, input->spec(), limited(input->cardinality(), count),
             input->random_access()),
        count_(count) {}
  std::string details() const override { return std::to_string(count_); }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    if (planned.length) {
      planned.length = std::min(*planned.length, count_);
    } else {
      planned.stream = std::make_unique<TakeTickets>(std::move(planned.stream), count_);
    }
    return planned;
  }

 private:
  static Cardinality limited(Cardinality of, int64_t count) {
    if (!of.known()) return count == 0 ? Cardinality{0} : of;
    return {std::min(*of.count, count)};
  }
  int64_t count_;
};

class SkipTickets final : public Tickets {
 public:
  SkipTickets(std::unique_ptr<Tickets> input, int64_t count)
      : input_(std::move(input)), count_(count) {}
  void begin(int64_t epoch) override {
    input_->begin(epoch);
    pending_ = true;
  }
  bool next(Ticket& ticket) override {
    pass();
    return input_->next(ticket);
  }
  void skip(int64_t count) override {
    pass();
    input_->skip(count);
  }

 private:
  void pass() {
    if (pending_) input_->skip(count_);
    pending_ = false;
  }
  std::unique_ptr<Tickets> input_;
  int64_t count_;
  bool pending_ = false;
};

class SkipNode final : public Node {
 public:
  SkipNode(const NodeRef& input, int64_t count)
      : Node("skip", {input}, input->spec(),
             counted(input->cardinality(),
                     [&](int64_t n) { return std::max<int64_t>(n - count, 0); }),
             input->random_access()),
        count_(count) {}
  std::string details() const override { return std::to_string(count_); }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    if (!planned.length) {
      planned.stream = std::make_unique<SkipTickets>(std::move(planned.stream), count_);
      return planned;
    }
    int64_t length = *planned.length == Cardinality::kInfinite
                         ? Cardinality::kInfinite
                         : std::max<int64_t>(*planned.length - count_, 0);
    return placed(std::move(planned), length,
                  [count = count_](int64_t&, int64_t& index) { index = sum(index, count); });
  }

 private:
  int64_t count_;
};

// --- shard ---------------------------------------------------------------------------------------

class ShardTickets final : public Tickets {
 public:
  ShardTickets(std::unique_ptr<Tickets> input, int64_t count, int64_t index)
      : input_(std::move(input)), count_(count), index_(index) {}
  void begin(int64_t epoch) override { input_->begin(epoch), to_skip_ = index_; }
  bool next(Ticket& ticket) override {
    if (to_skip_ > 0) input_->skip(to_skip_);
    to_skip_ = count_ - 1;
    return input_->next(ticket);
  }
  void skip(int64_t count) override {
    if (count == 0) return;
    input_->skip(sum(to_skip_ + 1, product(count - 1, count_)));
    to_skip_ = count_ - 1;
  }

 private:
  std::unique_ptr<Tickets> input_;
  int64_t count_, index_, to_skip_ = 0;
};

class ShardNode final : public Node {
 public:
  ShardNode(const NodeRef& input, int64_t count, int64_t index)
      : Node("shard", {input}, input->spec(),
             counted(input->cardinality(), [&](int64_t n) { return length(n, count, index); }),
             input->random_access()),
        count_(count),
        index_(index) {}
  std::string details() const override { return fmt::format("{}, {}", count_, index_); }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    if (!planned.length) {
      planned.stream = std::make_unique<ShardTickets>(std::move(planned.stream), count_, index_);
      return planned;
    }
    int64_t shard_length = length(*planned.length, count_, index_);
    return placed(std::move(planned), shard_length,
                  [count = count_, first = index_](int64_t&, int64_t& index) {
                    index = sum(product(index, count), first);
                  });
  }

 private:
  static int64_t length(int64_t n, int64_t count, int64_t index) {
    if (n == Cardinality::kInfinite) return n;
    return n <= index ? 0 : (n - index - 1) / count + 1;
  }
  int64_t count_, index_;
};

// --- repeat --------------------------------------------------------------------------------------

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
    Planned planned = context.plan_input(*this);
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

// --- shuffle -------------------------------------------------------------------------------------

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

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    if (planned.may_drop) planned = context.materialised(std::move(planned), *this);
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

void check_count(const char* what, int64_t count, int64_t least) {
  if (count < least)
    throw ValueError(fmt::format("{}({}): expected at least {}", what, count, least));
}

}  // namespace

Dataset Dataset::take(int64_t count) const {
  check_count("take", count, -1);
  return count < 0 ? *this : Dataset(std::make_shared<TakeNode>(node_, count));
}

Dataset Dataset::skip(int64_t count) const {
  check_count("skip", count, 0);
  return Dataset(std::make_shared<SkipNode>(node_, count));
}

Dataset Dataset::shard(int64_t count, int64_t index) const {
  check_count("shard", count, 1);
  if (index < 0 || index >= count)
    throw ValueError(
        fmt::format("shard({}, {}): the index of a shard is 0 … {}", count, index, count - 1));
  return Dataset(std::make_shared<ShardNode>(node_, count, index));
}

Dataset Dataset::repeat(int64_t count) const {
  check_count("repeat", count, -1);
  return Dataset(std::make_shared<RepeatNode>(node_, count));
}

Dataset Dataset::shuffle(const ShuffleOptions& options) const {
  return Dataset(std::make_shared<ExactShuffleNode>(node_, options));
}

Dataset Dataset::shuffle(int64_t buffer, const ShuffleOptions& options) const {
  check_count("shuffle", buffer, 1);
  return Dataset(std::make_shared<WindowShuffleNode>(node_, buffer, options));
}

}  // namespace stoker::data
