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

}  // namespace stoker::jobs
