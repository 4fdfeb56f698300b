#include "data/runtime/planning.h"

#include <fmt/format.h>

#include "data/runtime/runner.h"

namespace stoker::data {

namespace {

constexpr int64_t kRunAhead = 64;  // elements, so that cheap ones can be made many at a time

class HeldMaker final : public Maker {
 public:
  Made make(const Ticket& ticket, ElementWriter& out, Worker&) const override {
    const Batch& element = ticket.held->value();
    for (size_t i = 0; i < element.size(); ++i) out.copy(i, element[i]);
    return {ticket.epoch, ticket.index};
  }
};

// The elements of a runner as tickets. The one who asks may be a worker: it helps. An element that
// could not be made becomes a ticket too, so that an error policy further on can deal with it.
class RunnerTickets final : public Tickets {
 public:
  RunnerTickets(Planned planned, const ElementSpec& spec, const Runner::Options& options,
                const PlanContext& context, RunnerStats& stats)
      : runner_(std::move(planned), spec, options, context.pool, context.budget, ordinary_memory(),
                stats) {}

  void begin(int64_t epoch) override {
    runner_.begin({.epoch = epoch, .passed = 0, .ahead = {}}, 1);
  }
  bool next(Ticket& ticket) override {
    auto held = std::make_shared<Held>();
    Made made;
    if (runner_.next(held->element, made, held->error) != Runner::Outcome::element) return false;
    ticket = {made.epoch, made.index, 0, std::move(held)};
    return true;
  }

 private:
  Runner runner_;
};

uint64_t hash_of(std::string_view text, uint64_t hash) {
  for (char c : text) hash = (hash ^ uint8_t(c)) * 0x100000001B3ULL;
  return hash;
}

}  // namespace

MakerRef held_maker() {
  static const MakerRef maker = std::make_shared<HeldMaker>();
  return maker;
}

std::string title(const Node& node) { return fmt::format("{}({})", node.kind(), node.details()); }

uint64_t fingerprint(const Node& node) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const NodeRef& input : node.inputs()) hash = mixed(hash, fingerprint(*input));
  if (node.transparent() && node.identity().empty()) return fingerprint(*node.input());
  return hash_of(to_string(node.spec()), hash_of(node.identity(), hash_of(node.kind(), hash)));
}

Planned PlanContext::plan_input(const Node& node, size_t i) {
  Planned planned = plan_input_with_gaps(node, i);
  bool closes = planned.may_drop && planned.length;
  return closes ? materialised(std::move(planned), *node.inputs()[i]) : std::move(planned);
}

Planned PlanContext::plan_input_with_gaps(const Node& node, size_t i) {
  if (node.inputs().size() == 1) {
    Planned planned = node.input()->plan(*this);
    bool keep = node.input().get() == cache_after && planned.length;
    return keep ? kept_in_memory(std::move(planned), *this) : std::move(planned);
  }
  uint64_t before = branch_;
  branch_ = mixed(branch_, i + 1);
  Planned planned = node.inputs()[i]->plan(*this);
  branch_ = before;
  return planned;
}

// How many nodes that matter stand before it, and on which branch: the same for the same chain,
// whatever is put behind it.
uint64_t PlanContext::key(const Node& node) const {
  uint64_t depth = 0;
  for (const Node* at = &node; !at->inputs().empty(); at = at->input().get())
    if (!at->transparent()) ++depth;
  return mixed(mixed(seed, depth), branch_);
}

bool PlanContext::shares_files(const Node& source, int64_t files) {
  source_files = std::max(source_files, files);
  if (!slice || policy != AutoShardPolicy::file) return false;
  if (files < slice->size)
    throw ValueError(
        fmt::format("auto_shard_policy = file: {} has {} files for {} ranks, expected one or more "
                    "per rank; use "
                    "AutoShardPolicy::data",
                    title(source), files, slice->size));
  return files_shared = true;
}

int64_t PlanContext::rows_of_batch(int64_t size) {
  if (!slice || policy != AutoShardPolicy::file || std::exchange(batch_seen, true)) return size;
  int64_t rows = slice->end(size) - slice->begin(size);
  if (rows == 0)
    throw ValueError(fmt::format(
        "auto_shard_policy = file: a batch of {} has no row for rank {} of {}; use larger batches",
        size, slice->rank, slice->size));
  return rows;
}

Planned PlanContext::materialised(Planned planned, const Node& node) {
  runs_all = true;
  RunnerStats& stats = statistics.runner(title(node));
  WorkLimits limits = planned.limits;
  int64_t workers = limits.tuned() || retuned ? cores : limits.workers;
  if (as_written) workers = limits.some_stated ? limits.workers : 1;
  bool alone = pool == nullptr || (workers <= 1 && !limits.depth);
  int64_t depth = limits.depth.value_or(0) > 0 ? *limits.depth : 2 * workers;
  // In order even where elements may overtake each other: the place of a restore is a number of
  // tickets, so the same tickets have to come again.
  Runner::Options options{.title = title(node),
                          .workers = alone ? 0 : workers,
                          .depth = std::max(depth, workers) + (as_written ? 0 : kRunAhead),
                          .ordered = true,
                          .helps = true,
                          .hands_errors_on = true};
  Planned result{.maker = held_maker()};
  result.limits.ordered = limits.ordered;
  result.replay = planned.replay;
  if (planned.may_drop && result.replay.empty())
    result.replay = fmt::format("{} decides element by element", title(node));
  result.stream =
      std::make_unique<RunnerTickets>(std::move(planned), node.spec(), options, *this, stats);
  return result;
}

}  // namespace stoker::data
