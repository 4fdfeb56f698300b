// on_error: what becomes of elements that cannot be made.
#include <fmt/format.h>

#include "data/node.h"
#include "data/runtime/addresses.h"
#include "data/runtime/planning.h"
#include "data/runtime/quarantine.h"
#include "data/runtime/worker.h"

namespace stoker::data {

namespace {

constexpr int kMostTries = 16;

// Leaves out what could not be made. Counts in the order of the elements, so that a limit is
// reached at the same one at any thread count.
class SkippingTickets final : public Tickets {
 public:
  SkippingTickets(std::unique_ptr<Tickets> input, std::shared_ptr<Quarantine> quarantine)
      : input_(std::move(input)), quarantine_(std::move(quarantine)) {}

  void begin(int64_t epoch) override {
    input_->begin(epoch);
    epoch_ = epoch;
  }
  bool next(Ticket& ticket) override {
    while (input_->next(ticket)) {
      try {
        ticket.held->value();
        quarantine_->count_good(epoch_);
        return true;
      } catch (...) {
        quarantine_->add(epoch_, ticket.index);
      }
    }
    return false;
  }

 private:
  std::unique_ptr<Tickets> input_;
  std::shared_ptr<Quarantine> quarantine_;
  int64_t epoch_ = 0;
};

// Leaves out what could not be made where it stands: a batch is shorter then, on the rank whose row it
// is, and nothing else changes.
class GapMaker final : public Maker {
 public:
  GapMaker(MakerRef input, size_t scratch, std::shared_ptr<Quarantine> quarantine)
      : input_(std::move(input)), scratch_(scratch), quarantine_(std::move(quarantine)) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    ScratchElement& element = worker.scratch(scratch_);
    try {
      Made made = input_->make(ticket, element, worker);
      quarantine_->count_good(ticket.epoch);
      for (size_t i = 0; made.kept && i < element.views().size(); ++i)
        out.copy(i, element.views()[i]);
      return made;
    } catch (...) {
      quarantine_->add(ticket.epoch, ticket.index);
    }
    return {.epoch = ticket.epoch, .index = ticket.index, .kept = false};
  }
  std::string origin(const Ticket& ticket) const override { return input_->origin(ticket); }

 private:
  MakerRef input_;
  size_t scratch_;
  std::shared_ptr<Quarantine> quarantine_;
};

// Makes another element of the same epoch instead. Which one follows from the key and the place
// alone, so that it is the same at any thread count and after a resume.
class ReplacingMaker final : public Maker {
 public:
  ReplacingMaker(MakerRef input, int64_t length, uint64_t key, size_t scratch,
                 std::shared_ptr<Quarantine> quarantine)
      : input_(std::move(input)),
        length_(length),
        key_(key),
        scratch_(scratch),
        quarantine_(std::move(quarantine)) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    Ticket attempt = ticket;
    Rng rng(mixed(key_, uint64_t(ticket.epoch)), uint64_t(ticket.index));
    for (int tries = 0;; ++tries) {
      ScratchElement& element = worker.scratch(scratch_);
      try {
        Made made = input_->make(attempt, element, worker);
        quarantine_->count_good(ticket.epoch);
        for (size_t i = 0; i < element.views().size(); ++i) out.copy(i, element.views()[i]);
        return made;
      } catch (...) {
        quarantine_->add(ticket.epoch, attempt.index);
        if (tries + 1 == kMostTries) throw;
      }
      attempt.index = rng.integer(0, length_);
    }
  }
  std::string origin(const Ticket& ticket) const override { return input_->origin(ticket); }

 private:
  MakerRef input_;
  int64_t length_;
  uint64_t key_;
  size_t scratch_;
  std::shared_ptr<Quarantine> quarantine_;
};

class OnErrorNode final : public Node {
 public:
  OnErrorNode(const NodeRef& input, OnError policy, ErrorOptions options)
      : Node("on_error", {input}, input->spec(), count(*input, policy),
             policy != OnError::skip && input->random_access()),
        policy_(policy),
        options_(options) {
    if (policy == OnError::replace && !input->random_access())
      throw ValueError(fmt::format(
          "on_error(replace) after {}: another element can only be chosen with random access; use "
          "OnError::skip, or put it before",
          title(*input)));
  }

  std::string details() const override {
    static constexpr const char* kNames[] = {"fail", "replace", "skip"};
    return fmt::format("{}, max_errors = {}", kNames[size_t(policy_)], options_.max_errors);
  }
  bool transparent() const override { return true; }
  std::string identity() const override { return policy_ == OnError::fail ? "" : details(); }

  Planned plan(PlanContext& context) const override {
    if (policy_ == OnError::fail) return context.plan_input_with_gaps(*this);
    PlanContext::KeepPositions keep(context);
    bool skips = policy_ == OnError::skip;
    Planned planned = skips ? context.plan_input_with_gaps(*this) : context.plan_input(*this);
    auto quarantine = std::make_shared<Quarantine>(title(*this), options_);
    context.quarantines.push_back(quarantine);
    if (policy_ == OnError::replace) {
      int64_t length = *planned.length;
      planned.maker =
          std::make_shared<ReplacingMaker>(std::move(planned.maker), length, context.key(*this) + 1,
                                           context.new_scratch(), quarantine);
      return planned;
    }
    if (context.slice && planned.length) {
      planned.maker = std::make_shared<GapMaker>(std::move(planned.maker), context.new_scratch(),
                                                 std::move(quarantine));
      planned.may_drop = context.gaps = true;
      return planned;
    }
    planned = context.materialised(std::move(planned), *this);
    if (planned.replay.empty())
      planned.replay = fmt::format("{} decides element by element", title(*this));
    planned.stream = std::make_unique<SkippingTickets>(std::move(planned.stream), quarantine);
    return planned;
  }

 private:
  static Cardinality count(const Node& input, OnError policy) {
    bool exact = policy != OnError::skip || input.cardinality().infinite();
    return exact ? input.cardinality() : Cardinality{};
  }
  OnError policy_;
  ErrorOptions options_;
};

}  // namespace

Dataset Dataset::on_error(OnError policy, const ErrorOptions& options) const {
  if (options.max_errors < 0 || !(options.max_rate >= 0 && options.max_rate <= 1))
    throw ValueError(
        fmt::format("on_error: max_errors is {} and max_rate {}, expected 0 or more, and "
                    "a share in [0, 1]",
                    options.max_errors, options.max_rate));
  return Dataset(std::make_shared<OnErrorNode>(node_, policy, options));
}

}  // namespace stoker::data
