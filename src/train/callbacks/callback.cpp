#include <stoker/callbacks.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/model.h>

#include "base/file.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "train/callbacks/callback_support.h"
#include "train/model/model_base.h"

namespace stoker {

Model& Callback::model() const {
  if (model_ == nullptr) throw Error("Callback::model(): no model is calling now");
  return *model_;
}

Trainer& trainer_of(const Callback& callback) {
  return trainer_of(ModelAccess::base(callback.model()));
}

void say(const Callback& callback, const std::string& line) {
  std::ostream* out = trainer_of(callback).context->out;
  if (out == nullptr) return;
  if (terminal_of(out).live) *out << kClearLine;
  *out << printable_lines(line) << "\n" << std::flush;
}

std::string reason_of(const std::string& error) {
  size_t colon = error.rfind(": ");
  return colon == std::string::npos ? error : error.substr(colon + 2);
}

bool write_or_say(const Callback& callback, const char* who, std::string& reason,
                  const std::function<void()>& write) {
  try {
    write();
  } catch (const FileError& error) {
    if (std::string now = reason_of(error.what()); now != std::exchange(reason, now))
      say(callback,
          fmt::format("{}: {}; training goes on, and writing is tried again", who, error.what()));
    return false;
  }
  if (!std::exchange(reason, "").empty())
    say(callback, fmt::format("{}: writing works again", who));
  return true;
}

void make_folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) local_files().create_directories(folder);
}

void check_steps(const StepRange& steps, const std::string& who) {
  if (steps.first < 1 || steps.last < steps.first)
    throw ValueError(fmt::format(
        "{}: steps {} to {} cannot be; they are counted from 1, and the last is not before the "
        "first",
        who, steps.first, steps.last));
}

int64_t batches_of(const Frequency& frequency, const char* callback, const char* option) {
  if (const int64_t* batches = std::get_if<int64_t>(&frequency)) {
    if (*batches >= 1) return *batches;
    throw ValueError(fmt::format("{}: {} is {}, expected at least 1", callback, option, *batches));
  }
  const std::string& word = std::get<std::string>(frequency);
  if (word == "epoch") return 0;
  if (word == "batch") return 1;
  throw ValueError(fmt::format("{}: {} is \"{}\", expected \"epoch\", \"batch\" or a number",
                               callback, option, word));
}

bool TerminateOnNaN::on_non_finite(const NonFiniteError& error) {
  say(*this, fmt::format("{}: training ends here", error.what()));
  return true;
}

namespace {

bool grows_when_better(const char* callback, const std::string& name, const std::string& mode) {
  if (mode == "max") return true;
  if (mode == "min") return false;
  if (mode != "auto")
    throw ValueError(
        fmt::format("{}: unknown mode \"{}\"; expected auto, min or max", callback, mode));
  for (const char* word :
       {"acc", "auc", "precision", "recall", "f1", "beta_score", "iou", "io_u", "r2", "sensitivity",
        "specificity", "correlation", "cosine_similarity", "true_positives", "true_negatives"})
    if (name.find(word) != std::string::npos) return true;
  return false;
}

}  // namespace

Monitor::Monitor(const char* callback, std::string name, const std::string& mode, double min_delta)
    : name_(std::move(name)),
      min_delta_(min_delta),
      maximise_(grows_when_better(callback, name_, mode)) {
  if (!(min_delta >= 0))
    throw ValueError(fmt::format("{}: min_delta is {}, expected 0 or more", callback, min_delta));
}

double Monitor::worst() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return maximise_ ? -kInfinity : kInfinity;
}

bool Monitor::improves(double value, double reference) const {
  return maximise_ ? value - min_delta_ > reference : value + min_delta_ < reference;
}

void LambdaCallback::on_train_begin() {
  if (options_.on_train_begin) options_.on_train_begin();
}
void LambdaCallback::on_train_end(const Logs& logs) {
  if (options_.on_train_end) options_.on_train_end(logs);
}
void LambdaCallback::on_epoch_begin(int64_t epoch) {
  if (options_.on_epoch_begin) options_.on_epoch_begin(epoch);
}
void LambdaCallback::on_epoch_end(int64_t epoch, const Logs& logs) {
  if (options_.on_epoch_end) options_.on_epoch_end(epoch, logs);
}
void LambdaCallback::on_train_batch_begin(int64_t batch) {
  if (options_.on_train_batch_begin) options_.on_train_batch_begin(batch);
}
void LambdaCallback::on_train_batch_end(int64_t batch, const Logs& logs) {
  if (options_.on_train_batch_end) options_.on_train_batch_end(batch, logs);
}
void LambdaCallback::on_test_begin() {
  if (options_.on_test_begin) options_.on_test_begin();
}
void LambdaCallback::on_test_end(const Logs& logs) {
  if (options_.on_test_end) options_.on_test_end(logs);
}
void LambdaCallback::on_test_batch_begin(int64_t batch) {
  if (options_.on_test_batch_begin) options_.on_test_batch_begin(batch);
}
void LambdaCallback::on_test_batch_end(int64_t batch, const Logs& logs) {
  if (options_.on_test_batch_end) options_.on_test_batch_end(batch, logs);
}
void LambdaCallback::on_predict_begin() {
  if (options_.on_predict_begin) options_.on_predict_begin();
}
void LambdaCallback::on_predict_end() {
  if (options_.on_predict_end) options_.on_predict_end();
}
void LambdaCallback::on_predict_batch_begin(int64_t batch) {
  if (options_.on_predict_batch_begin) options_.on_predict_batch_begin(batch);
}
void LambdaCallback::on_predict_batch_end(int64_t batch) {
  if (options_.on_predict_batch_end) options_.on_predict_batch_end(batch);
}

bool is_passed_over(const FitParams& params, const std::string& name, const Logs& logs) {
  auto of_validation = [](const std::string& each) { return each.starts_with("val_"); };
  return params.validates_some && of_validation(name) &&
         std::ranges::none_of(logs.names(), of_validation);
}

std::optional<double> monitored(const Callback& callback, const char* who, const std::string& name,
                                const Logs& logs) {
  if (logs.has(name)) return logs[name];
  if (is_passed_over(callback.params(), name, logs)) return std::nullopt;
  throw ValueError(fmt::format("{}: monitor \"{}\" is not logged; there are: {}. {}", who, name,
                               fmt::join(logs.names(), ", "),
                               name.starts_with("val_")
                                   ? "Give fit validation_data or validation_split, or set .monitor"
                                   : "Set .monitor to one of them"));
}

}  // namespace stoker
