// A trained model as the commands name it: a .stoker file, or the folder that `stoker train --out`
// filled.
#pragma once

#include <string>
#include <vector>

#include <stoker/model.h>

#include "jobs/data_names.h"
#include "jobs/job.h"

namespace stoker::jobs {

struct TrainedModel {
  Model model;
  std::string path;      // of the .stoker file
  Job job = {};          // the one it was trained by, where that is known
  DataNames names = {};  // as far as they are known
};
// FileError for what is not there.
TrainedModel open_trained(const std::string& path);
// The job that is beside it, without loading the model; the default one where there is none.
Job job_beside(const std::string& path);

// The one picture [H, W, C], or row of a table [columns], that the model takes; ShapeError for another
// kind of model.
TensorSpec input_of(const TrainedModel& trained);
// The same for pictures alone.
TensorSpec picture_of(const TrainedModel& trained);

}  // namespace stoker::jobs
