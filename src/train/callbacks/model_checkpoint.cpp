#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/args.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/model.h>

#include "base/writable.h"
#include "train/callbacks/callback_support.h"
#include "train/files/saving.h"

namespace stoker {

namespace {

constexpr const char* kModelCheckpoint = "ModelCheckpoint";

bool all_finite(const std::vector<Tensor>& weights) {
  return std::ranges::all_of(weights, [](const Tensor& weight) {
    return weight.dtype() != DType::float32 ||
           std::ranges::all_of(weight.values<float>(), [](float x) { return std::isfinite(x); });
  });
}

// The part of a path that no placeholder can change.
std::string fixed_folder(const std::string& filepath) {
  std::string fixed = filepath.substr(0, filepath.find('{'));
  std::string folder = std::filesystem::path(fixed).parent_path().string();
  return folder.empty() ? "." : folder;
}

// What save() will ask for at the end of an epoch.
void check_can_save_at_all(const Model& model, const std::string& filepath, bool weights_only) {
  check_ending(filepath);
  if (filepath.find('{') == std::string::npos)
    check_can_write_file(filepath);
  else
    check_can_write_folder(fixed_folder(filepath));
  try {
    if (weights_only)
      check_can_save_weights(model);
    else
      check_can_save(model);
  } catch (const ValueError& error) {
    throw ValueError(fmt::format(
        "{} (\"{}\"): {}{}", kModelCheckpoint, filepath, error.what(),
        weights_only ? "" : "; or write the weights alone: {.save_weights_only = true}"));
  }
}

}  // namespace

ModelCheckpoint::ModelCheckpoint(std::string filepath, ModelCheckpointOptions options)
    : filepath_(std::move(filepath)),
      options_(std::move(options)),
      monitor_(kModelCheckpoint, options_.monitor, options_.mode, 0.0),
      every_(batches_of(options_.save_freq, kModelCheckpoint, "save_freq")) {
  if (filepath_.empty()) throw ValueError(fmt::format("{}: the path is empty", kModelCheckpoint));
}

void ModelCheckpoint::on_train_begin() {
  check_can_save_at_all(model(), filepath_, options_.save_weights_only);
  best_ = options_.initial_value_threshold.value_or(monitor_.worst());
  batches_ = 0;
  last_path_.clear();
}

void ModelCheckpoint::on_epoch_begin(int64_t epoch) { epoch_ = epoch; }

void ModelCheckpoint::on_epoch_end(int64_t, const Logs& logs) {
  if (every_ == 0) save(-1, logs);
}

void ModelCheckpoint::on_train_batch_end(int64_t batch, const Logs& logs) {
  if (every_ > 0 && ++batches_ % every_ == 0) save(batch, logs);
}

void ModelCheckpoint::save(int64_t batch, const Logs& logs) {
  std::optional<double> monitored_now = 0.0;
  if (options_.save_best_only)
    monitored_now = monitored(*this, kModelCheckpoint, options_.monitor, logs);
  if (!monitored_now) return;
  double value = *monitored_now;
  if (options_.save_best_only && !monitor_.improves(value, best_)) return;
  std::string path = path_for(batch, logs);
  if (!all_finite(model().get_weights())) {
    say(*this,
        fmt::format("{}: the weights are not finite; {} is not written", kModelCheckpoint, path));
    return;
  }
  bool saved = write_or_say(*this, kModelCheckpoint, trouble_, [&] {
    make_folder_of(path);
    if (options_.save_weights_only)
      model().save_weights(path);
    else
      model().save(path);
  });
  if (!saved) return;  // the next one is tried, and the best so far stays what is on the disk
  if (options_.verbose > 0)
    say(*this, options_.save_best_only
                   ? fmt::format("Epoch {}: {} improved from {:.5g} to {:.5g}; saved to {}",
                                 epoch_ + 1, options_.monitor, best_, value, path)
                   : fmt::format("Epoch {}: saved to {}", epoch_ + 1, path));
  if (options_.save_best_only) best_ = value;
  last_path_ = std::move(path);
}

std::string ModelCheckpoint::path_for(int64_t batch, const Logs& logs) const {
  if (filepath_.find('{') == std::string::npos) return filepath_;
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  std::vector<std::string> names = {"epoch", "batch"};
  values.push_back(fmt::arg("epoch", epoch_ + 1));
  values.push_back(fmt::arg("batch", batch + 1));
  names.insert(names.end(), logs.names().begin(), logs.names().end());
  // Only what the path asks for is read: live logs wait for the device.
  for (const std::string& name : logs.names())
    values.push_back(
        fmt::arg(name.c_str(), filepath_.find("{" + name) == std::string::npos ? 0.0 : logs[name]));
  try {
    return fmt::vformat(filepath_, values);
  } catch (const fmt::format_error& error) {
    throw ValueError(fmt::format("{}: the path \"{}\" cannot be filled in: {}; there are {}",
                                 kModelCheckpoint, filepath_, error.what(),
                                 fmt::join(names, ", ")));
  }
}

CallbackState ModelCheckpoint::state() const {
  return {.values = {{"best", best_}, {"batches", batches_}, {"last_path", last_path_}}};
}

void ModelCheckpoint::restore(const CallbackState& state) {
  best_ = remembered<double>(state, kModelCheckpoint, "best");
  batches_ = remembered<int64_t>(state, kModelCheckpoint, "batches");
  last_path_ = remembered<std::string>(state, kModelCheckpoint, "last_path");
}

}  // namespace stoker
