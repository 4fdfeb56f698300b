// A training at one moment between two steps: all that another process needs to go on from there to
// the same bits. Data only.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <stoker/callbacks.h>
#include <stoker/run_plan.h>

#include "train/fit/feed.h"
#include "train/fit/run_settings.h"

namespace stoker {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct Checkpoint {
  // Steps of this epoch that are done; 0: the epoch before has ended, with its validation.
  int64_t epoch = 0, step = 0;
  bool stop = false;  // a callback has asked the training to end
  RunPlan plan = {};
  std::map<std::string, std::string> library_plans = {};  // of a backend that ChoosesPlans
  RunSettings settings = {};                              // none: written by Stoker 0.1
  std::optional<int64_t> steps_per_epoch = {};            // where it was known
  FeedState feed = {};
  History history = {};
  std::vector<std::pair<std::string, double>> logs = {};  // of the epoch before, where step is 0
  int64_t samples = 0;  // of this epoch, that the sums of the metrics count
  double learning_rate = 0;
  int64_t accumulated_batches = 0;
  std::vector<std::pair<std::string, CallbackState>> callbacks = {};  // by kind: "EarlyStopping"
  NamedTensors weights = {};                                          // "weights/dense/kernel"
  NamedTensors state = {};  // "optimizer/…", "random_state", "metrics/…", "masks/…"
};

// All but the tensors, as JSON text and back. The text is not trusted: ValueError.
std::string checkpoint_to_json(const Checkpoint& checkpoint);
Checkpoint checkpoint_from_json(std::string_view text);

}  // namespace stoker
