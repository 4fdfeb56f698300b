#include "data/runtime/iterator.h"

#include <ostream>

#include <fmt/format.h>
#include <stoker/context.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file.h"
#include "base/terminal.h"
#include "formats/json.h"

namespace stoker::data {

namespace {

constexpr int64_t kWindowNs = 100'000'000;  // what the tuner looks at
constexpr int64_t kLeastBatches = 4;        // in a window
constexpr int64_t kFirstLookNs = 5'000'000;
constexpr double kComputing =
    0.3;  // of the time of workers, on a core that they share: they do not wait

// A state as text: a JSON object of the walk and its check sum, so that damage is noticed.
std::string check_sum(const nlohmann::json& walk) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (char c : walk.dump()) hash = mixed(hash, uint8_t(c));
  return fmt::format("{:016x}", hash);
}

nlohmann::json walk_of(const std::string& state) {
  nlohmann::json parsed = try_parse_json(state);
  if (!parsed.is_object() || parsed.value("stoker_iterator", nlohmann::json()) != 1 ||
      !parsed.contains("walk") || !parsed.contains("check"))
    throw ValueError(
        "iterate: the state is not one that Iterator::state() has given, or not all of it");
  if (parsed["check"] != check_sum(parsed["walk"]))
    throw ValueError("iterate: the state is damaged: its check sum does not fit");
  return parsed["walk"];
}

}  // namespace

Iterator::Impl::Impl(const NodeRef& root, const IterateOptions& options, const PipelineKnobs& knobs,
                     std::shared_ptr<void> kept) {
  if (options.slice) check_slice(*options.slice);
  const Context& context = options.context != nullptr ? *options.context : default_context();
  Settings settings = settings_of(*root);
  seed_ = settings.options.seed ? *settings.options.seed : context.seed.value();
  fingerprint_ = fingerprint(*root);
  Runner::Position from{.epoch = options.epoch, .passed = 0, .ahead = {}};
  std::string batches_of;
  if (!options.state.empty()) {
    nlohmann::json state = walk_of(options.state);
    try {
      if (state.at("fingerprint") != fingerprint_)
        throw ValueError(
            "iterate: the state belongs to another chain; its sources, functions and options have "
            "to be those it was taken from");
      seed_ = state.at("seed");
      from.epoch = state.at("epoch");
      from.passed = state.at("passed");
      from.ahead = state.at("ahead").get<std::set<int64_t>>();
      batches_of = state.value("batches_of", std::string());
    } catch (const nlohmann::json::exception& error) {
      throw ValueError(fmt::format("iterate: the state is damaged: {}", error.what()));
    }
    if (from.epoch < 0 || from.passed < 0)
      throw ValueError("iterate: the state is damaged: it lies before the beginning");
  }
  int threads = threads_for(settings, context, options.slice);
  pool_ = std::make_unique<ThreadPool>(ThreadPool::Options{.threads = threads, .name = "pipeline"});
  Plan plan =
      make_plan(root, {.seed = seed_,
                       .seed_drawn = !settings.options.seed && context.seed.drawn(),
                       .pool = pool_.get(),
                       .threads = threads,
                       .pin = context.pin,
                       .memory = options.memory,
                       .feeds_gpu = context.threads.pipeline == 0 && options.memory != nullptr &&
                                    options.memory->page_locked(),
                       .order = options.order,
                       .knobs = knobs,
                       .kept = std::move(kept),
                       .slice = options.slice});
  run_ = std::move(plan.run);
  if (!options.state.empty() && batches_of != run_->batches_of)
    throw ValueError(
        fmt::format("iterate: the state was taken from the batches of {}, but these are the "
                    "batches of {}, which "
                    "are others",
                    batches_of.empty() ? "one process" : batches_of,
                    run_->batches_of.empty() ? "one process" : run_->batches_of));
  runner_ = std::move(plan.runner);
  out_ = context.out;
  hand_on_notices();
  if (run_->tunes_workers || run_->tunes_depth) {
    tuner_.emplace(plan.limits, plan.start);
    one_core_ = run_->tunes_workers && plan.limits.cores == 1;
    load_tuned();
  }
  runner_->begin(from, options.epochs);
  run_->begin_ns = window_begin_ = steady_clock().now();
}

void Iterator::Impl::hand_on_notices() {
  if (!run_->notices->pending()) return;
  for (const std::string& line : run_->notices->take())
    if (out_ != nullptr)
      *out_ << (terminal_of(out_).live ? kClearLine : "") << line << "\n" << std::flush;
}

const Batch* Iterator::Impl::next() {
  OneThread::Scope scope(one_thread_, "Iterator::next");
  check_not_forked(forks_, "the pipeline's threads");
  current_ = {};
  if (finished_) return nullptr;
  Made made;
  std::exception_ptr none;
  Runner::Outcome outcome = runner_->next(current_, made, none);
  whole_rows_ = run_->batches_of.empty() ? made.whole : -1;
  hand_on_notices();
  int64_t now = steady_clock().now();
  run_->elapsed_ns.store(now - run_->begin_ns, std::memory_order_relaxed);
  if (outcome == Runner::Outcome::element) {
    if (one_core_ && now - window_begin_ >= kFirstLookNs) look_at_one_core();
    if (tuner_ && now - window_begin_ >= kWindowNs) tune(now);
    return &current_;
  }
  finished_ = outcome == Runner::Outcome::finished;
  if (tuner_ && !run_->settings.options.tuned.empty()) save_tuned();
  return nullptr;
}

int64_t Iterator::Impl::epoch() const { return runner_->position().epoch; }

// On one core a worker that computes takes it from the consumer: handing batches over is all that it
// adds. One that waits does so beside the consumer's work.
void Iterator::Impl::look_at_one_core() {
  const RunnerStats& stats = *run_->stats;
  if (stats.delivered.value() < kLeastBatches || stats.busy_ns.value() == 0) return;
  one_core_ = false;
  if (double(stats.cpu_ns.value()) < kComputing * double(stats.busy_ns.value())) return;
  runner_->set_workers(0);
  run_->notes.push_back("on one core, and nothing to wait for: the consumer makes its batches");
  run_->tunes_workers = run_->tunes_depth = false;
  tuner_.reset();
}

void Iterator::Impl::tune(int64_t now) {
  const RunnerStats& stats = *run_->stats;
  Totals totals{.delivered = stats.delivered.value(),
                .wait_ns = stats.wait_ns.value(),
                .busy_ns = stats.busy_ns.value(),
                .cpu_ns = stats.cpu_ns.value()};
  if (totals.delivered - totals_.delivered < kLeastBatches) return;
  TunerSettings before = tuner_->settings();
  const TunerSettings& after =
      tuner_->observe({.seconds = double(now - window_begin_) * 1e-9,
                       .delivered = double(totals.delivered - totals_.delivered),
                       .wait_seconds = double(totals.wait_ns - totals_.wait_ns) * 1e-9,
                       .busy_seconds = double(totals.busy_ns - totals_.busy_ns) * 1e-9,
                       .cpu_seconds = double(totals.cpu_ns - totals_.cpu_ns) * 1e-9});
  if (after.workers != before.workers) runner_->set_workers(after.workers);
  if (after.depth != before.depth) runner_->set_depth(after.depth);
  totals_ = totals;
  window_begin_ = now;
}

// A file that is absent or not ours is no reason to stop: tuning starts afresh.
void Iterator::Impl::load_tuned() {
  const std::string& path = run_->settings.options.tuned;
  if (path.empty() || !local_files().exists(path)) return;
  nlohmann::json saved = try_parse_json(read_text(path));
  auto number = [&](const char* key, int64_t otherwise) {
    return saved.contains(key) && saved[key].is_number_integer() ? saved[key].get<int64_t>()
                                                                 : otherwise;
  };
  if (!saved.is_object() || !saved.contains("fingerprint") || saved["fingerprint"] != fingerprint_)
    return;
  TunerSettings settings = tuner_->settings();
  if (run_->tunes_workers)
    settings.workers = std::clamp<int64_t>(number("workers", settings.workers), 1, pool_->size());
  if (run_->tunes_depth)
    settings.depth = std::clamp<int64_t>(number("depth", settings.depth), 1, kMostDepth);
  runner_->set_workers(settings.workers);
  runner_->set_depth(settings.depth);
  tuner_->start_from(settings);
  run_->notes.push_back(fmt::format("starts with {} workers and {} prefetched batches, from {}",
                                    settings.workers, settings.depth, path));
}

void Iterator::Impl::save_tuned() const {
  nlohmann::json saved{{"fingerprint", fingerprint_},
                       {"workers", tuner_->settings().workers},
                       {"depth", tuner_->settings().depth}};
  try {
    write_file_atomically(run_->settings.options.tuned, saved.dump() + "\n");
  } catch (const FileError& error) {  // a hint for the next run: no reason to end this one
    run_->notes.push_back(fmt::format("what tuning found is not saved: {}", error.what()));
  }
}

std::string Iterator::Impl::state(const Runner::Position& position) const {
  nlohmann::json walk{{"fingerprint", fingerprint_},
                      {"seed", seed_},
                      {"epoch", position.epoch},
                      {"passed", position.passed},
                      {"ahead", position.ahead}};
  if (!run_->batches_of.empty()) walk["batches_of"] = run_->batches_of;
  return nlohmann::json{{"stoker_iterator", 1}, {"check", check_sum(walk)}, {"walk", walk}}.dump();
}

Iterator::Iterator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;
Iterator::~Iterator() = default;

const Batch* Iterator::next() { return impl_->next(); }
int64_t Iterator::epoch() const { return impl_->epoch(); }
bool Iterator::finished() const { return impl_->finished(); }
std::string Iterator::state() const { return impl_->state(); }
std::string Iterator::explain() const { return explain_text(*impl_->run()); }
std::string Iterator::explain_json() const { return explain_as_json(*impl_->run()); }

std::vector<int64_t> Iterator::order() const { return impl_->order(); }

std::vector<BadElement> Iterator::quarantine() const {
  std::vector<BadElement> all;
  for (const auto& quarantine : impl_->run()->quarantines)
    for (BadElement& bad : quarantine->list()) all.push_back(std::move(bad));
  return all;
}

}  // namespace stoker::data
