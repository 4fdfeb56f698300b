// on_error: what becomes of elements that cannot be made.
#include <fmt/format.h>

#include "data/node.h"
#include "data/runtime/addresses.h"
#include "data/runtime/plan.h"
#include "data/runtime/quarantine.h"
#include "data/runtime/worker.h"

namespace stoker::data {

void Quarantine::add(int64_t epoch, int64_t index) {
  std::string message = current_message();
  std::lock_guard lock(mutex_);
  if (epoch != epoch_) {
    epoch_ = epoch;
    in_epoch_ = 0;
  }
  ++in_epoch_;
  ++all_;
  if (bad_.size() < kKept) bad_.push_back({epoch, index, message});
  int64_t seen = made_.load(std::memory_order_relaxed) + all_;
  bool too_many = in_epoch_ > options_.max_errors;
  bool too_often = seen >= kRateFrom && double(all_) > options_.max_rate * double(seen);
  if (too_many || too_often)
    throw Error(fmt::format(
        "{}: {} of {} elements could not be made, more than {}; the last: {}", stage_, all_, seen,
        too_many ? fmt::format("max_errors = {} in an epoch", options_.max_errors)
                 : fmt::format("max_rate = {}", options_.max_rate),
        message));
}

std::vector<BadElement> Quarantine::list() const {
  std::lock_guard lock(mutex_);
  return bad_;
}

namespace {

constexpr int kMostTries = 16;

// Drops what cannot be made.
class SkippingMaker final : public Maker {
 public:
  SkippingMaker(MakerRef input, size_t scratch, std::shared_ptr<Quarantine> quarantine)
      : input_(std::move(input)), scratch_(scratch), quarantine_(std::move(quarantine)) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    ScratchElement& element = worker.scratch(scratch_);
    Made made;
    try {
      made = input_->make(ticket, element, worker);
    } catch (...) {
      quarantine_->add(ticket.epoch, ticket.index);
      return {ticket.epoch, ticket.index, false};
    }
    quarantine_->count_good();
    for (size_t i = 0; made.kept && i < element.views().size(); ++i)
      out.copy(i, element.views()[i]);
    return made;
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
        quarantine_->count_good();
        for (size_t i = 0; i < element.views().size(); ++i) out.copy(i, element.views()[i]);
        return made;
      } catch (...) {
        quarantine_->add(attempt.epoch, attempt.index);
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
  OnErrorNode(NodeRef input, OnError policy, ErrorOptions options)
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

  Planned plan(PlanContext& context) const override {
    if (policy_ == OnError::fail) return context.plan_input(*this);
    PlanContext::KeepPositions keep(context);
    Planned planned = context.plan_input(*this);
    auto quarantine = std::make_shared<Quarantine>(title(*this), options_);
    context.quarantines.push_back(quarantine);
    if (policy_ == OnError::replace) {
      int64_t length = *planned.length;
      planned.maker =
          std::make_shared<ReplacingMaker>(std::move(planned.maker), length, context.key(*this) + 1,
                                           context.new_scratch(), quarantine);
      return planned;
    }
    planned.maker = std::make_shared<SkippingMaker>(std::move(planned.maker), context.new_scratch(),
                                                    quarantine);
    planned.may_drop = true;
    return context.materialised(std::move(planned), *this);
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
