// What callbacks share: where they speak, and reading back what they remembered.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <stoker/backup.h>
#include <stoker/callbacks.h>
#include <stoker/more_callbacks.h>
#include <stoker/orbax_checkpoint.h>

#include "base/fields.h"
#include "train/model/trainer.h"

namespace stoker {

// Of the model that calls.
Trainer& trainer_of(const Callback& callback);

// A line to Context::out, if there is one; a progress bar makes room.
void say(const Callback& callback, const std::string& line);

// What a callback monitors; nothing in an epoch that does not validate, of a fit in which others do.
// ValueError, naming the callback and what to do, where it is not logged.
std::optional<double> monitored(const Callback& callback, const char* who, const std::string& name,
                                const Logs& logs);
// Whether these are the logs of an epoch that validation_freq passes over, and this a value of others.
bool is_passed_over(const FitParams& params, const std::string& name, const Logs& logs);

// Makes the folder that a file is about to be written to.
void make_folder_of(const std::string& path);

// Runs `write`; true: it worked. A FileError does not end the training: it is said, once until its
// reason changes, and so is the first success after it. `reason`: of the last failure, kept by the
// caller; empty: there was none.
bool write_or_say(const Callback& callback, const char* who, std::string& reason,
                  const std::function<void()>& write);
// What differs between two failures of the same kind is in front: paths and temporary names.
std::string reason_of(const std::string& error);

template <class T>
T remembered(const CallbackState& state, const char* callback, const char* name) {
  const Attr* value = state.values.find(name);
  if (value == nullptr || !std::holds_alternative<T>(*value))
    throw ValueError(
        fmt::format("{}: the saved state has no \"{}\", or one of another type", callback, name));
  return std::get<T>(*value);
}

// What the options of a callback may be; beside the callback.
template <class Options>
const Fields<Options>& callback_fields();
template <>
const Fields<EarlyStoppingOptions>& callback_fields();
template <>
const Fields<ReduceLROnPlateauOptions>& callback_fields();
template <>
const Fields<CSVLoggerOptions>& callback_fields();
template <>
const Fields<BackupOptions>& callback_fields();
template <>
const Fields<RemoteMonitorOptions>& callback_fields();
template <>
const Fields<OrbaxCheckpointOptions>& callback_fields();

// A number above 0 from "epoch" (0) or a count; ValueError for anything else.
int64_t batches_of(const Frequency& frequency, const char* callback, const char* option);

// ValueError for steps before the first, and for a last one before the first of the range; `who`
// begins it.
void check_steps(const StepRange& steps, const std::string& who);

}  // namespace stoker
