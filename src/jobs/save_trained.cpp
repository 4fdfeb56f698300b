#include "jobs/save_trained.h"

#include <fmt/format.h>

#include "base/elsewhere.h"
#include "base/file.h"
#include "train/checkpoint/checkpoint_files.h"

namespace stoker::jobs {

namespace {

std::string checkpoints_of(const std::string& out) { return out + "/checkpoints"; }

// Why it could not be saved; empty: it was.
std::string try_save(const Model& model, const std::string& path) {
  try {
    model.save(path);
    return "";
  } catch (const FileError& error) {
    return error.what();
  }
}

std::string save_with_room(const Model& model, const std::string& out, const std::string& path) {
  std::vector<std::string> gone;
  while (true) {
    std::string error = try_save(model, path);
    if (!is_disk_full(error)) return error;
    try {
      if (!make_room(checkpoints_of(out), {}, local_files(), gone)) return error;
    } catch (const FileError&) {
      return error;
    }
  }
}

std::string newest_checkpoint(const std::string& out) {
  try {
    auto all = list_checkpoints(checkpoints_of(out), local_files());
    if (!all.empty()) return fmt::format("{}/{}", checkpoints_of(out), all.back().name);
  } catch (const FileError&) {
    // The failure that led here is the one to report.
  }
  return "none";
}

}  // namespace

SavedModel save_trained(const Model& model, const std::string& out) {
  SavedModel saved{.path = out + "/model.stoker"};
  std::string error = save_with_room(model, out, saved.path);
  if (error.empty()) return saved;
  std::string elsewhere =
      write_elsewhere(saved.path, [&](const std::string& other) { model.save(other); });
  if (elsewhere.empty())
    throw FileError(fmt::format("{}; no other place takes the model; its newest checkpoint: {}",
                                error, newest_checkpoint(out)));
  saved.path = elsewhere;
  saved.problem = fmt::format("{}; the model is in {}", error, elsewhere);
  return saved;
}

}  // namespace stoker::jobs
