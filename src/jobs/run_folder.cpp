#include "jobs/run_folder.h"

#include <filesystem>

#include <fmt/format.h>

namespace stoker::jobs {

namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& path) {
  if (fs::is_directory(path)) return path;
  std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string file_of(const std::string& path) {
  std::string file = fs::is_directory(path) ? path + "/model.stoker" : path;
  if (!fs::exists(file))
    throw FileError(fmt::format(
        "{}: there is no such model; give a .stoker file or the folder of `stoker train --out`",
        file));
  return file;
}

}  // namespace

Job job_beside(const std::string& path) {
  std::string file = folder_of(path) + "/job.json";
  return fs::exists(file) ? read_job(file) : Job{};
}

TrainedModel open_trained(const std::string& path) {
  std::string file = file_of(path);
  return {.model = load_model(file),
          .path = file,
          .job = job_beside(path),
          .names = read_names(folder_of(path))};
}

TensorSpec input_of(const TrainedModel& trained) {
  const Values& inputs = trained.model.inputs();
  if (inputs.size() == 1 && inputs[0].shape().rank() == 2)
    return {inputs[0].dtype(), inputs[0].shape().drop_front()};
  return picture_of(trained);
}

TensorSpec picture_of(const TrainedModel& trained) {
  const Values& inputs = trained.model.inputs();
  if (inputs.size() != 1 || inputs[0].shape().rank() != 4)
    throw ShapeError(fmt::format("{}: expected a model of one picture [B, H, W, C], it takes {}",
                                 trained.path,
                                 inputs.empty() ? "nothing" : to_string(inputs[0].shape())));
  return {inputs[0].dtype(), inputs[0].shape().drop_front()};
}

}  // namespace stoker::jobs
