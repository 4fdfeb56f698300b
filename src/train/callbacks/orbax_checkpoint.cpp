#include <stoker/orbax_checkpoint.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>
#include <stoker/model.h>

#include "base/thread_pool.h"
#include "base/writable.h"
#include "train/callbacks/callback_support.h"
#include "train/files/saving.h"

namespace stoker {

namespace {

constexpr const char* kOrbaxCheckpoint = "OrbaxCheckpoint";
constexpr const char* kEnding = ".stoker";

// N of "N.stoker"; nothing for other names.
std::optional<int64_t> number_of(const std::string& name) {
  int64_t number = 0;
  const char* end = name.data() + name.size();
  auto [rest, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc() || number < 0 || std::string_view(rest, end) != kEnding) return {};
  return number;
}

std::string path_of(const std::string& directory, int64_t number) {
  return (std::filesystem::path(directory) / fmt::format("{}{}", number, kEnding)).string();
}

// Those with the smallest numbers go; `newest` stays, whatever its number.
void remove_old(const std::string& directory, int64_t keep, int64_t newest) {
  std::vector<int64_t> numbers;
  for (const DirectoryEntry& entry : local_files().list(directory))
    if (auto number = number_of(entry.name); number && *number != newest)
      numbers.push_back(*number);
  std::ranges::sort(numbers, std::greater());
  for (size_t i = size_t(keep - 1); i < numbers.size(); ++i)
    local_files().remove(path_of(directory, numbers[i]));
}

}  // namespace

template <>
const Fields<OrbaxCheckpointOptions>& callback_fields() {
  using C = OrbaxCheckpointOptions;
  static const Fields<C> table = {{"max_to_keep", &C::max_to_keep, at_least(1)}};
  return table;
}

// One file at a time, on a thread of its own.
class OrbaxCheckpoint::Writer {
 public:
  void begin(std::function<void()> write) { pending_ = pool_.submit(std::move(write)); }
  // Waits for the file that was begun, if any; FileError where it could not be written.
  void finish() {
    if (auto pending = std::exchange(pending_, {})) pending->get();
  }

 private:
  std::optional<Future<void>> pending_;
  ThreadPool pool_{{.name = "stoker-save"}};
};

OrbaxCheckpoint::OrbaxCheckpoint(std::string directory, OrbaxCheckpointOptions options)
    : directory_(std::move(directory)),
      options_(std::move(options)),
      monitor_(kOrbaxCheckpoint, options_.monitor, options_.mode, 0.0),
      every_(batches_of(options_.save_freq, kOrbaxCheckpoint, "save_freq")) {
  if (directory_.empty()) throw ValueError("OrbaxCheckpoint: the directory is empty");
  callback_fields<OrbaxCheckpointOptions>().check(kOrbaxCheckpoint, options_);
}

OrbaxCheckpoint::OrbaxCheckpoint(OrbaxCheckpoint&&) noexcept = default;
OrbaxCheckpoint::~OrbaxCheckpoint() = default;

void OrbaxCheckpoint::on_train_begin() {
  check_can_write_folder(directory_);
  if (options_.save_weights_only)
    check_can_save_weights(model());
  else
    check_can_save(model());
  best_ = options_.initial_value_threshold.value_or(monitor_.worst());
  Optimizer optimizer = model().optimizer();
  batches_ = optimizer.defined() ? optimizer.iterations() : 0;
  last_path_.clear();
  if (options_.save_on_background) writer_ = std::make_unique<Writer>();
}

void OrbaxCheckpoint::on_epoch_end(int64_t epoch, const Logs& logs) {
  if (every_ == 0) save(epoch, logs);
}

void OrbaxCheckpoint::on_train_batch_end(int64_t, const Logs& logs) {
  ++batches_;
  if (every_ > 0 && batches_ % every_ == 0) save(batches_, logs);
}

void OrbaxCheckpoint::on_train_end(const Logs&) { finish(); }

void OrbaxCheckpoint::finish() {
  if (writer_) write_or_say(*this, kOrbaxCheckpoint, trouble_, [&] { writer_->finish(); });
}

void OrbaxCheckpoint::wait_until_finished() {
  if (writer_) writer_->finish();
}

void OrbaxCheckpoint::save(int64_t number, const Logs& logs) {
  std::optional<double> value = 0.0;
  if (options_.save_best_only) value = monitored(*this, kOrbaxCheckpoint, options_.monitor, logs);
  if (!value || (options_.save_best_only && !monitor_.improves(*value, best_))) return;
  std::string path = path_of(directory_, number);
  SavedModel copy =
      options_.save_weights_only ? saved_weights_of(model()) : saved_model_of(model());
  if (!copy.weights_are_finite()) {
    say(*this,
        fmt::format("{}: the weights are not finite; {} is not written", kOrbaxCheckpoint, path));
    return;
  }
  auto write = [copy = std::move(copy), path, directory = directory_, number,
                keep = options_.max_to_keep] {
    make_folder_of(path);
    copy.write(path);
    if (keep) remove_old(directory, *keep, number);
  };
  finish();  // one at a time
  if (writer_)
    writer_->begin(std::move(write));
  else if (!write_or_say(*this, kOrbaxCheckpoint, trouble_, write))
    return;
  if (options_.verbose > 0) say(*this, fmt::format("{}: saving {}", kOrbaxCheckpoint, path));
  if (options_.save_best_only) best_ = *value;
  last_path_ = std::move(path);
}

CallbackState OrbaxCheckpoint::state() const {
  return {.values = {{"best", best_}, {"batches", batches_}, {"last_path", last_path_}}};
}

void OrbaxCheckpoint::restore(const CallbackState& state) {
  best_ = remembered<double>(state, kOrbaxCheckpoint, "best");
  batches_ = remembered<int64_t>(state, kOrbaxCheckpoint, "batches");
  last_path_ = remembered<std::string>(state, kOrbaxCheckpoint, "last_path");
}

}  // namespace stoker
