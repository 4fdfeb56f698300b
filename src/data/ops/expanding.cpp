#include "data/ops/expanding.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/runtime/addresses.h"
#include "data/runtime/quarantine.h"
#include "data/runtime/runner.h"

namespace stoker::data {

namespace {

// One dataset that an element became, being read. What goes wrong in it is an element of its own;
// when it cannot go on, the last one.
class Inner {
 public:
  explicit Inner(std::exception_ptr error) : error_(std::move(error)) {}

  Inner(const Dataset& dataset, uint64_t seed, int64_t epoch, bool ahead, const Turns& turns,
        const PlanContext& outer, std::shared_ptr<Quarantine> bad)
      : node_(dataset.node()), bad_(std::move(bad)) {
    PlanContext context(seed, outer.as_written, ahead ? outer.pool : nullptr, outer.budget,
                        statistics_);
    context.notices = outer.notices;
    context.cores = outer.cores;
    Planned planned = node_->plan(context);
    own_bad_ = std::move(context.quarantines);
    Runner::Options options{.title = title(*node_),
                            .workers = ahead ? 1 : 0,
                            .depth = std::max<int64_t>(2 * turns.block, 16),
                            .ordered = true,
                            .helps = true,
                            .hands_errors_on = true};
    runner_ = std::make_unique<Runner>(std::move(planned), node_->spec(), options, context.pool,
                                       outer.budget, ordinary_memory(),
                                       statistics_.runner(title(*node_)));
    runner_->begin({.epoch = epoch, .passed = 0, .ahead = {}}, 1);
  }
  // What its own error policies left out is passed on after it.
  ~Inner() {
    runner_.reset();
    for (const auto& quarantine : own_bad_) bad_->absorb(quarantine->list());
  }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

  bool next(Held& held) {
    if (!runner_) return (held.error = std::exchange(error_, nullptr)) != nullptr;
    try {
      Made made;
      return runner_->next(held.element, made, held.error) == Runner::Outcome::element;
    } catch (...) {
      held.error = std::current_exception();
      runner_.reset();
      return true;
    }
  }

 private:
  Statistics statistics_;
  NodeRef node_;
  std::unique_ptr<Runner> runner_;
  std::exception_ptr error_;
  std::vector<std::shared_ptr<Quarantine>> own_bad_;
  std::shared_ptr<Quarantine> bad_;  // of the outer dataset
};

class InterleaveTickets final : public Tickets {
 public:
  InterleaveTickets(std::unique_ptr<Tickets> input, ExpandTicket function, ElementSpec spec,
                    std::string stage, Turns turns, uint64_t key, PlanContext context,
                    std::shared_ptr<Quarantine> bad)
      : input_(std::move(input)),
        function_(std::move(function)),
        spec_(std::move(spec)),
        stage_(std::move(stage)),
        turns_(turns),
        key_(key),
        context_(std::move(context)),
        bad_(std::move(bad)) {}

  void begin(int64_t epoch) override {
    slots_.clear();
    input_->begin(epoch);
    epoch_ = epoch;
    index_ = taken_ = 0;
    at_ = 0;
    ended_ = false;
  }

  bool next(Ticket& ticket) override {
    while (true) {
      fill();
      if (empty()) return false;
      if (slots_[at_] == nullptr) {
        advance();
        continue;
      }
      auto held = std::make_shared<Held>();
      if (slots_[at_]->next(*held)) {
        ticket = {epoch_, index_++, 0, std::move(held)};
        if (++taken_ == turns_.block) advance();
        return true;
      }
      slots_[at_].reset();
      fill();  // its place is taken before the next has its turn, so that reading ahead begins
      advance();
    }
  }

 private:
  bool empty() const {
    return std::all_of(slots_.begin(), slots_.end(), [](const auto& slot) { return !slot; });
  }
  void advance() {
    at_ = (at_ + 1) % slots_.size();
    taken_ = 0;
  }

  // Opens datasets in the free places, beginning with the one whose turn it is.
  void fill() {
    for (size_t i = 0; i < slots_.size() && !ended_; ++i) {
      std::unique_ptr<Inner>& slot = slots_[(at_ + i) % slots_.size()];
      if (slot == nullptr) slot = open();
    }
    while (!ended_ && int64_t(slots_.size()) < turns_.cycle)
      if (std::unique_ptr<Inner> slot = open()) slots_.push_back(std::move(slot));
  }

  std::unique_ptr<Inner> open() {
    Ticket outer;
    if (!input_->next(outer)) {
      ended_ = true;
      return nullptr;
    }
    try {
      Dataset dataset = function_(outer);
      check(dataset);
      return std::make_unique<Inner>(dataset, mixed(key_, uint64_t(outer.index)), outer.epoch,
                                     turns_.ahead, turns_, context_, bad_);
    } catch (...) {
      return std::make_unique<Inner>(addressed_error(stage_, outer.epoch, outer.index, ""));
    }
  }

  void check(const Dataset& dataset) const {
    bool fits = dataset.spec().size() == spec_.size();
    for (size_t i = 0; fits && i < spec_.size(); ++i)
      fits = dataset.spec()[i].dtype == spec_[i].dtype &&
             dataset.spec()[i].shape.rank() == spec_[i].shape.rank();
    if (!fits)
      throw ShapeError(fmt::format("the function returned a dataset of {}, but {} was declared",
                                   to_string(dataset.spec()), to_string(spec_)));
  }

  std::unique_ptr<Tickets> input_;
  ExpandTicket function_;
  ElementSpec spec_;
  std::string stage_;
  Turns turns_;
  uint64_t key_;
  PlanContext context_;
  std::shared_ptr<Quarantine> bad_;
  std::vector<std::unique_ptr<Inner>> slots_;
  int64_t epoch_ = 0, index_ = 0, taken_ = 0;
  size_t at_ = 0;
  bool ended_ = false;
};

}  // namespace

Planned expanded(Planned planned, const Node& node, ExpandTicket function, Turns turns,
                 PlanContext& context) {
  auto bad = std::make_shared<Quarantine>(title(node), ErrorOptions{});
  context.quarantines.push_back(bad);
  planned.stream = std::make_unique<InterleaveTickets>(
      std::move(planned.stream), std::move(function), node.spec(), title(node), turns,
      context.key(node), context, bad);
  planned.maker = held_maker();
  return planned;
}

}  // namespace stoker::data
