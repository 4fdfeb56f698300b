#include "train/checkpoint/checkpointer.h"

#include <csignal>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/elsewhere.h"
#include "base/tracing.h"
#include "base/writable.h"
#include "train/callbacks/callback_support.h"
#include "train/checkpoint/callback_states.h"
#include "train/checkpoint/checkpoint_state.h"
#include "train/files/saving.h"
#include "train/step/steps.h"

namespace stoker {

namespace {

double seconds_since(int64_t begin) { return double(steady_clock().now() - begin) * 1e-9; }

}  // namespace

FileSystem& Checkpointer::files() const {
  return backup_.files_ != nullptr ? *backup_.files_ : local_files();
}

std::vector<CallbackRef> Checkpointer::other_callbacks() const {
  std::vector<CallbackRef> list;
  for (const CallbackRef& callback : args_.callbacks)
    if (dynamic_cast<BackupAndRestore*>(&*callback) == nullptr) list.push_back(callback);
  return list;
}

std::string Checkpointer::place_of(int64_t epoch, int64_t step) {
  return step == 0 ? fmt::format("after epoch {}", epoch)
                   : fmt::format("in epoch {} after step {}", epoch + 1, step);
}

std::unique_ptr<Checkpointer> Checkpointer::of(const Model& model, Feed& training,
                                               const Feed* validation, const FitArgs& args,
                                               RunLocks& locks) {
  BackupAndRestore* backup = backup_of(args);
  return backup ? std::make_unique<Checkpointer>(model, training, validation, args, *backup, locks)
                : nullptr;
}

Checkpointer::Checkpointer(const Model& model, Feed& training, const Feed* validation,
                           const FitArgs& args, BackupAndRestore& backup, RunLocks& locks)
    : handle_(model),
      model_(ModelAccess::base(model)),
      trainer_(*model_.trainer),
      training_(training),
      validation_(validation),
      args_(args),
      backup_(backup),
      processes_(processes_of(trainer_)),
      since_ns_(steady_clock().now()),
      interrupts_(backup.options().handle_signals),
      writer_(backup.directory(), backup.rule(), files()) {
  backup_.resumed_from_.clear();
  backup_.notes_.clear();
  backup_.costs_ = {};
  if (first()) lock_ = locks.lock(backup_.directory(), trainer_.context->out, files());
}

Checkpointer::~Checkpointer() { take(writer_.wait()); }

void Checkpointer::step_ended(int64_t epoch, int64_t steps) {
  ++steps_;
  ++since_steps_;
  take(writer_.poll());
  Place place{.epoch = epoch, .step = steps};
  if (processes_ != nullptr) return look_around(place);
  if (is_due()) {
    if (writer_.busy())
      backup_.costs_.passed_over += std::exchange(postponed_, true) ? 0 : 1;
    else
      save(place);
  }
  end_if_asked(place);
}

void Checkpointer::validation_step_ended(int64_t epoch, int64_t steps) {
  if (processes_ == nullptr && interrupts_.pending() != 0 && steps > 0)
    end_if_asked({.epoch = epoch, .step = steps});
}

void Checkpointer::epoch_ended(int64_t epoch, const Logs& logs) {
  Place place{.epoch = epoch + 1, .step = 0, .logs = logs};
  const BackupOptions& options = backup_.options();
  bool last = place.epoch >= args_.epochs || trainer_.stop;
  bool kept = !options.monitor.empty() ||
              (options.keep_every_epochs > 0 && place.epoch % options.keep_every_epochs == 0);
  take(writer_.poll());
  if (processes_ != nullptr) agree(place);
  if (first_says(writer_.busy()) && !last && !kept)
    backup_.costs_.passed_over += std::exchange(postponed_, true) ? 0 : 1;
  else
    save_own(place);
  if (!last && processes_ == nullptr) end_if_asked(place);
}

namespace {

constexpr double kLookSeconds = 0.5;
constexpr int64_t kMostSteps = 1000;

// What one process can know and all have to act on.
struct Look {
  int64_t signal = 0, save = 0;
  int64_t step_ns = 0;
};

}  // namespace

// A signal ends all processes after the same step. How often they look follows from the slowest one's
// steps, so that it costs little and a signal is soon seen.
void Checkpointer::look_around(const Place& place) {
  const std::optional<int64_t>& limit = backup_.options().stop_after_steps;
  bool asked = limit && steps_ >= *limit;
  if (--steps_to_look_ > 0 && !is_due_by_steps() && !asked) return;
  int64_t now = steady_clock().now(), steps = std::max<int64_t>(steps_ - looked_steps_, 1);
  Look mine{.signal = interrupts_.pending(),
            .save = first() && is_due() && !writer_.busy() ? 1 : 0,
            .step_ns = looked_ns_ > 0 ? (now - looked_ns_) / steps : 0};
  looked_ns_ = now;
  looked_steps_ = steps_;
  std::vector<Look> all(size_t(processes_->slice().size));
  processes_->all_gather(std::as_bytes(std::span(&mine, 1)),
                         std::as_writable_bytes(std::span(all)));
  Look most;
  for (const Look& look : all) {
    most.signal = std::max(most.signal, look.signal);
    most.step_ns = std::max(most.step_ns, look.step_ns);
  }
  double per_step = std::max(double(most.step_ns) * 1e-9, kLookSeconds / kMostSteps);
  steps_to_look_ = most.step_ns == 0 ? 1 : std::max(int64_t(kLookSeconds / per_step), int64_t(1));
  if (all[0].save != 0) save(place);
  if (most.signal != 0 || asked) end(place, int(most.signal));
}

bool Checkpointer::first_says(bool mine) {
  return processes_ == nullptr ? mine : of_first(*processes_, int64_t(mine)) != 0;
}

// All processes stand at the same place with the same weights.
void Checkpointer::agree(const Place& place) {
  verify_weights(*processes_, handle_, place_of(place.epoch, place.step));
}

void Checkpointer::finish() {
  take(writer_.wait());
  bool delete_all = backup_.options().delete_checkpoint && failure_.empty();
  // What could not be saved is left to the caller, who has the model.
  if (int signal = interrupts_.pending(); signal != 0 && failure_.empty())
    throw Interrupted(fmt::format("fit: {} arrived when the training was over; it is saved in {}",
                                  signal_name(signal), newest_),
                      signal);
  if (!delete_all || !first()) return;
  std::vector<std::string> names;
  for (const ListedCheckpoint& each : list_checkpoints(backup_.directory(), files()))
    names.push_back(each.name);
  remove_checkpoints(backup_.directory(), names, files());
}

bool Checkpointer::is_due_by_steps() const {
  int64_t steps = batches_of(backup_.options().save_freq, "BackupAndRestore", "save_freq");
  return steps > 0 && since_steps_ >= steps;
}

bool Checkpointer::is_due() const {
  const BackupOptions& options = backup_.options();
  return postponed_ || is_due_by_steps() ||
         (options.save_seconds > 0 && seconds_since(since_ns_) >= options.save_seconds);
}

bool Checkpointer::is_saved(const Place& place) const {
  return last_ == std::pair(place.epoch, place.step) && failure_.empty();
}

std::optional<double> Checkpointer::monitored(const Place& place) const {
  const std::string& name = backup_.options().monitor;
  if (name.empty() || place.step != 0) return std::nullopt;
  if (is_passed_over(backup_.params(), name, place.logs)) return std::nullopt;
  double value = place.logs[name];  // ValueError lists the names
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

void Checkpointer::save(const Place& place) {
  if (processes_ != nullptr) agree(place);
  save_own(place);
}

void Checkpointer::save_own(const Place& place) {
  TraceScope scope("checkpoint");
  int64_t begin = steady_clock().now();
  take(writer_.wait());
  postponed_ = false;
  since_steps_ = 0;
  since_ns_ = begin;
  // The device may be steps behind: a bad one among them ends the training here.
  try {
    finish_training_steps(model_, {.action = "fit", .epoch = place.epoch, .step = place.step});
  } catch (const NonFiniteError&) {
    if (trainer_.stop) return;  // TerminateOnNaN has seen it already
    throw;
  }
  if (!std::isfinite(trainer_.compiled->training->read(0))) {
    note(
        fmt::format("no checkpoint {}: the loss is not finite", place_of(place.epoch, place.step)));
    return;
  }
  if (trainer_.distribution) trainer_.distribution->collect_state(StateAt::first_process);
  if (first()) writer_.begin(snapshot(place), monitored(place));
  last_ = {place.epoch, place.step};
  backup_.costs_.stall_seconds += seconds_since(begin);
}

Checkpoint Checkpointer::snapshot(const Place& place) {
  Checkpoint checkpoint{.epoch = place.epoch,
                        .step = place.step,
                        .plan = handle_.run_plan(),
                        .library_plans = library_plans(),
                        .settings = with_parts(settings_, trainer_.parts),
                        .steps_per_epoch = training_.steps(),
                        .feed = training_.state()};
  for (size_t i = 0; i < place.logs.size(); ++i)
    checkpoint.logs.emplace_back(place.logs.names()[i], place.logs.value(i));
  checkpoint.callbacks = states_of(other_callbacks());
  take_state(model_, checkpoint);
  return checkpoint;
}

void Checkpointer::take(const std::optional<CheckpointWriter::Written>& written) {
  if (!written) return;
  backup_.costs_.write_seconds += written->seconds;
  if (!written->made_room.empty())
    note(fmt::format("the disk is full: {} made room", fmt::join(written->made_room, ", ")));
  if (written->error.empty()) {
    ++backup_.costs_.saved;
    backup_.costs_.bytes += written->bytes;
    newest_ = written->path;
    if (!std::exchange(failure_, "").empty())
      note(fmt::format("checkpoints can be written again: {}", newest_));
    return;
  }
  bool news = reason_of(failure_) != reason_of(written->error);
  failure_ = written->error;
  std::string newest = newest_.empty() ? "there is none yet" : "the newest one is " + newest_;
  if (news)
    note(fmt::format("a checkpoint could not be written: {}; training goes on, {}", failure_,
                     newest));
}

void Checkpointer::end_if_asked(const Place& place) {
  int signal = interrupts_.pending();
  const std::optional<int64_t>& limit = backup_.options().stop_after_steps;
  if (signal != 0 || (limit && steps_ >= *limit)) end(place, signal);
}

void Checkpointer::end(const Place& place, int signal) {
  take(writer_.wait());
  if (processes_ != nullptr && last_ != std::pair(place.epoch, place.step)) agree(place);
  if (!first_says(is_saved(place))) save_own(place);
  take(writer_.wait());
  std::string cause = signal != 0 ? fmt::format("by {}", signal_name(signal))
                                  : fmt::format("after {} steps, as asked", steps_);
  std::string where = place_of(place.epoch, place.step);
  if (is_saved(place))
    throw Interrupted(fmt::format("fit: stopped {}, {}. Saved as {}; run the same program again to "
                                  "go on from there",
                                  cause, where, newest_),
                      signal);
  std::string elsewhere = failure_.empty() ? "" : save_elsewhere(place);
  throw Interrupted(
      fmt::format("fit: stopped {}, {}. It could not be saved: {}; {}", cause, where,
                  failure_.empty() ? "the loss is not finite" : failure_,
                  !elsewhere.empty()
                      ? fmt::format("it is in {}: move that into {} to go on from there", elsewhere,
                                    backup_.directory())
                  : newest_.empty() ? "there is no checkpoint"
                                    : fmt::format("the same program goes on from {}", newest_)),
      signal);
}

// The path of the checkpoint; empty: no place takes it.
std::string Checkpointer::save_elsewhere(const Place& place) {
  Checkpoint checkpoint = snapshot(place);
  std::string folder = write_elsewhere(backup_.directory(), [&](const std::string& other) {
    files().create_directories(other);
    write_checkpoint(other, checkpoint, monitored(place), files());
  });
  if (folder.empty()) return "";
  return fmt::format("{}/{}", folder, checkpoint_name(place.epoch, place.step));
}

void Checkpointer::note(const std::string& line) {
  if (!first()) return;
  backup_.notes_.push_back(line);
  say(backup_, "BackupAndRestore: " + line);
}

}  // namespace stoker
