// Going on: finding the checkpoint, obeying it, and putting the training where it was.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/writable.h"
#include "engine/plan_choices.h"
#include "train/callbacks/callback_support.h"
#include "train/checkpoint/callback_states.h"
#include "train/checkpoint/checkpoint_state.h"
#include "train/checkpoint/checkpointer.h"
#include "train/checkpoint/packed_files.h"
#include "train/files/saving.h"

namespace stoker {

void Checkpointer::find() {
  if (first()) check_can_write();
  settings_ = run_settings(model_, training_, validation_, args_);
  FoundCheckpoint found = find_newest();
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

// The first process reads it; the others, which may have no such folder, get its bytes.
FoundCheckpoint Checkpointer::find_newest() {
  FoundCheckpoint found;
  if (first()) found = find_newest_checkpoint(backup_.directory(), files());
  if (processes_ == nullptr) return found;
  std::string path = of_first(*processes_, found.path);
  if (path.empty()) return found;
  std::string packed = of_first(*processes_, first() ? pack_folder(path, files()) : "");
  if (first()) return found;
  PackedFiles files(std::move(packed));
  return {.path = path, .checkpoint = read_checkpoint(path, files)};
}

// Before the first step: what fails later is said, and training goes on without checkpoints.
void Checkpointer::check_can_write() const {
  for (const OwnOptimizer& each : trainer_.compiled->own.optimizers)
    if (each.optimizer.gradient_accumulation_steps() > 1 &&
        !(each.optimizer == trainer_.compiled->args.optimizer))
      throw ValueError(
          fmt::format("BackupAndRestore (\"{}\"): the train_step applies \"{}\", which accumulates "
                      "gradients; a "
                      "checkpoint can keep that of compile()'s optimizer alone",
                      backup_.directory(), each.optimizer.name()));
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
  // Callbacks that write files are the first process's alone.
  if (first())
    for (std::string& line : differences(other_callbacks(), found_->callbacks))
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
    restore_callbacks(other_callbacks(), checkpoint.callbacks);
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

}  // namespace stoker
