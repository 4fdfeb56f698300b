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
#include "engine/plan_choices.h"
#include "train/callbacks/callback_support.h"
#include "train/checkpoint/callback_states.h"
#include "train/checkpoint/checkpoint_state.h"
#include "train/files/saving.h"
#include "train/step/steps.h"

namespace stoker {

namespace {

FileSystem& files_of(FileSystem* files) { return files != nullptr ? *files : local_files(); }

double seconds_since(int64_t begin) { return double(steady_clock().now() - begin) * 1e-9; }

// The callbacks that a checkpoint keeps: all but the one that makes it.
std::vector<CallbackRef> others(const std::vector<CallbackRef>& callbacks) {
  std::vector<CallbackRef> list;
  for (const CallbackRef& callback : callbacks)
    if (dynamic_cast<BackupAndRestore*>(&*callback) == nullptr) list.push_back(callback);
  return list;
}

std::string place_of(int64_t epoch, int64_t step) {
  return step == 0 ? fmt::format("after epoch {}", epoch)
                   : fmt::format("in epoch {} after step {}", epoch + 1, step);
}

}  // namespace

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
      since_ns_(steady_clock().now()),
      interrupts_(backup.options().handle_signals),
      writer_(backup.directory(), backup.rule(), files_of(backup.files_)) {
  backup_.resumed_from_.clear();
  backup_.notes_.clear();
  backup_.costs_ = {};
  lock_ = locks.lock(backup_.directory(), trainer_.context->out, files_of(backup_.files_));
}

Checkpointer::~Checkpointer() { take(writer_.wait()); }

// --- going on -----------------------------------------------------------------------------------

void Checkpointer::find() {
  check_can_write();
  settings_ = run_settings(model_, training_, validation_, args_);
  FoundCheckpoint found = find_newest_checkpoint(backup_.directory(), files_of(backup_.files_));
  for (const std::string& line : found.damaged)
    note(fmt::format("damaged checkpoint, passed over: {}", line));
  if (found.path.empty()) return;
  newest_ = backup_.resumed_from_ = found.path;
  found_ = std::move(found.checkpoint);
  last_ = {found_->epoch, found_->step};
  obey(found_->plan);
  take_library_plans();
  trainer_.parts = take_parts(found_->settings);
  check_differences();
  try {
    restore_model(*found_);
  } catch (const ValueError& error) {
    throw FileError(
        fmt::format("{}: it is of another model or optimiser: {}", found.path, error.what()));
  }
  // Stoker 0.1 kept no settings: only the data itself can tell that it is another.
  if (found_->settings.empty() && !found_->feed.stream.empty()) try {
      restore_feed(found_->feed);
    } catch (const ValueError& error) {
      throw FileError(fmt::format("{}: {}", found.path, error.what()));
    }
  if (args_.verbose > 0)
    say(backup_,
        fmt::format("Going on {} from {}", place_of(found_->epoch, found_->step), found.path));
}

// Before the first step: what fails later is said, and training goes on without checkpoints.
void Checkpointer::check_can_write() const {
  if (backup_.files_ == nullptr) check_can_write_folder(backup_.directory());
  try {
    check_can_save_weights(handle_);
  } catch (const ValueError& error) {
    throw ValueError(
        fmt::format("BackupAndRestore (\"{}\"): {}", backup_.directory(), error.what()));
  }
}

// Settings that were not chosen here follow the training that is resumed.
void Checkpointer::obey(const RunPlan& plan) {
  Context& context = *trainer_.context;
  if (context.seed.drawn()) {
    context.seed.resume(plan.seed);
    trainer_.seed = plan.seed;
    training_.set_seed(derived_seed(plan.seed, kShufflePurpose));
  }
  if (context.threads.compute == 0 && handle_.run_plan().compute_threads != plan.compute_threads) {
    context.threads.compute = plan.compute_threads;
    trainer_.programs.clear();
    trainer_.lanes.clear();
  }
}

std::map<std::string, std::string> Checkpointer::library_plans() const {
  auto* chooses = dynamic_cast<const ChoosesPlans*>(&engine_of(*trainer_.context));
  return chooses != nullptr ? chooses->plan_choices() : PlanChoices::Map();
}

// Before the first step of this process, or programs would have plans of their own already.
void Checkpointer::take_library_plans() {
  auto* chooses = dynamic_cast<ChoosesPlans*>(&engine_of(*trainer_.context));
  if (chooses == nullptr || found_->library_plans.empty()) return;
  chooses->prefer_plans(found_->library_plans);
  trainer_.programs.clear();
  trainer_.lanes.clear();
}

void Checkpointer::check_differences() {
  std::vector<std::string> lines = differences(handle_.run_plan(), found_->plan);
  if (training_.steps() != found_->steps_per_epoch)
    lines.push_back(fmt::format("steps in an epoch: {} here, {} there",
                                training_.steps().value_or(-1),
                                found_->steps_per_epoch.value_or(-1)));
  for (std::string& line : differences(others(args_.callbacks), found_->callbacks))
    lines.push_back(std::move(line));
  std::vector<std::string> following;
  for (std::string& line : different_settings(following)) lines.push_back(std::move(line));
  if (std::pair(found_->epoch, found_->step) > std::pair(args_.epochs, int64_t(0)))
    lines.push_back(fmt::format("epochs: {} here, the training stands {} there", args_.epochs,
                                place_of(found_->epoch, found_->step)));
  if (lines.empty()) {
    for (const std::string& line : following) note(line);
    return;
  }
  lines.insert(lines.end(), following.begin(), following.end());
  std::string text = fmt::format("{}: this fit differs from the training that was saved there: {}",
                                 newest_, fmt::join(lines, "; "));
  if (!backup_.options().allow_differences)
    throw DifferentTraining(text,
                            ". Make them equal, choose another directory to begin anew, or go on "
                            "all the same with {.allow_differences = true}");
  note(text);
}

// Resuming with more epochs is normal; settings that may follow their number are listed apart.
std::vector<std::string> Checkpointer::different_settings(std::vector<std::string>& following) {
  auto follows_epochs = [](const std::string& name) {
    return name.starts_with("learning_rate/") &&
           (name.ends_with("_steps") || name.ends_with("boundaries"));
  };
  std::vector<SettingDifference> found = differences(settings_, found_->settings);
  bool other_epochs = std::ranges::find(found, "epochs", &SettingDifference::name) != found.end();
  std::vector<std::string> lines;
  for (const SettingDifference& each : found) {
    if (each.name == "epochs") continue;
    if (other_epochs && follows_epochs(each.name)) {
      following.push_back(to_string(each) + ", as the schedule follows the number of epochs");
      continue;
    }
    if (each.name == "learning_rate" && !trainer_.compiled->args.optimizer.schedule().defined()) {
      double rate = trainer_.compiled->args.optimizer.config().get<double>("learning_rate");
      if (rate == found_->learning_rate) continue;  // a callback has set it there, and here
      own_rate_ = rate;
    }
    lines.push_back(to_string(each));
  }
  return lines;
}

void Checkpointer::restore_model(const Checkpoint& checkpoint) {
  restore_state(model_, checkpoint);
  if (own_rate_) trainer_.compiled->args.optimizer.set_learning_rate(*own_rate_);
}

int64_t Checkpointer::begin_training(Logs& logs) {
  if (!found_) return args_.initial_epoch;
  int64_t epoch = found_->epoch;
  logs = Logs(found_->logs);
  // In the middle of an epoch the callbacks' on_epoch_begin comes first.
  if (found_->step == 0 || epoch >= args_.epochs) restore_all();
  return epoch;
}

int64_t Checkpointer::begin_epoch() {
  if (!found_) return 0;
  int64_t step = found_->step;
  restore_all();
  return step;
}

void Checkpointer::restore_all() {
  Checkpoint checkpoint = std::move(*found_);
  found_.reset();
  try {
    restore_model(checkpoint);
    restore_feed(checkpoint.feed);
    restore_callbacks(others(args_.callbacks), checkpoint.callbacks);
  } catch (const ValueError& error) {
    throw FileError(fmt::format("{}: {}", backup_.resumed_from_, error.what()));
  }
  trainer_.stop = checkpoint.stop;
  since_ns_ = steady_clock().now();
}

void Checkpointer::restore_feed(FeedState state) {
  try {
    training_.restore(state);
  } catch (const ValueError& error) {
    if (!backup_.options().allow_differences || state.stream.empty()) throw;
    note(fmt::format("the data differs: {}; as many batches are passed over", error.what()));
    state.stream.clear();
    training_.restore(state);
  }
}

// --- saving -------------------------------------------------------------------------------------

void Checkpointer::step_ended(int64_t epoch, int64_t steps) {
  ++steps_;
  ++since_steps_;
  take(writer_.poll());
  Place place{.epoch = epoch, .step = steps};
  if (is_due()) {
    if (writer_.busy())
      backup_.costs_.passed_over += std::exchange(postponed_, true) ? 0 : 1;
    else
      save(place);
  }
  end_if_asked(place);
}

void Checkpointer::validation_step_ended(int64_t epoch, int64_t steps) {
  if (interrupts_.pending() != 0 && steps > 0) end_if_asked({.epoch = epoch, .step = steps});
}

void Checkpointer::epoch_ended(int64_t epoch, const Logs& logs) {
  Place place{.epoch = epoch + 1, .step = 0, .logs = logs};
  const BackupOptions& options = backup_.options();
  bool last = place.epoch >= args_.epochs || trainer_.stop;
  bool kept = !options.monitor.empty() ||
              (options.keep_every_epochs > 0 && place.epoch % options.keep_every_epochs == 0);
  take(writer_.poll());
  if (writer_.busy() && !last && !kept)
    backup_.costs_.passed_over += std::exchange(postponed_, true) ? 0 : 1;
  else
    save(place);
  if (!last) end_if_asked(place);
}

void Checkpointer::finish() {
  take(writer_.wait());
  bool delete_all = backup_.options().delete_checkpoint && failure_.empty();
  // What could not be saved is left to the caller, who has the model.
  if (int signal = interrupts_.pending(); signal != 0 && failure_.empty())
    throw Interrupted(fmt::format("fit: {} arrived when the training was over; it is saved in {}",
                                  signal_name(signal), newest_),
                      signal);
  if (!delete_all) return;
  FileSystem& files = files_of(backup_.files_);
  std::vector<std::string> names;
  for (const ListedCheckpoint& each : list_checkpoints(backup_.directory(), files))
    names.push_back(each.name);
  remove_checkpoints(backup_.directory(), names, files);
}

bool Checkpointer::is_due() const {
  const BackupOptions& options = backup_.options();
  int64_t steps = batches_of(options.save_freq, "BackupAndRestore", "save_freq");
  return postponed_ || (steps > 0 && since_steps_ >= steps) ||
         (options.save_seconds > 0 && seconds_since(since_ns_) >= options.save_seconds);
}

bool Checkpointer::is_saved(const Place& place) const {
  return last_ == std::pair(place.epoch, place.step) && failure_.empty();
}

std::optional<double> Checkpointer::monitored(const Place& place) const {
  const std::string& name = backup_.options().monitor;
  if (name.empty() || place.step != 0) return std::nullopt;
  double value = place.logs[name];  // ValueError lists the names
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

void Checkpointer::save(const Place& place) {
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
  writer_.begin(snapshot(place), monitored(place));
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
  checkpoint.callbacks = states_of(others(args_.callbacks));
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
  if (!is_saved(place)) save(place);
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
  FileSystem& files = files_of(backup_.files_);
  std::string folder = write_elsewhere(backup_.directory(), [&](const std::string& other) {
    files.create_directories(other);
    write_checkpoint(other, checkpoint, monitored(place), files);
  });
  if (folder.empty()) return "";
  return fmt::format("{}/{}", folder, checkpoint_name(place.epoch, place.step));
}

void Checkpointer::note(const std::string& line) {
  backup_.notes_.push_back(line);
  say(backup_, "BackupAndRestore: " + line);
}

}  // namespace stoker
