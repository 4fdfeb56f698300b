// A job's model, compiled, and what it takes.
#pragma once

#include <stoker/model.h>

#include "jobs/inspect.h"

namespace stoker::jobs {

struct InspectedModel {
  Model model;
  NetworkInput input;
};
InspectedModel compiled_model(const Job& job);

// Noise and labels: what they show does not change the work.
Batch made_up_pictures(const NetworkInput& input, int64_t batch);

}  // namespace stoker::jobs
