#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/train_job.h"
#include "jobs/use_model.h"

namespace stoker::app {

Command prepare_command() {
  struct State {
    JobOptions job;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {.name = "prepare",
          .meaning = "Decode and resize data once, into shards to train from",
          .examples =
              "  stoker prepare --data photos --image-size 160 --out photos.shards\n"
              "  stoker train --data shards:photos.shards --model resnet18",
          .job = &state->job,
          .fields = {"data", "validation_data", "validation_split", "image_size", "classes",
                     "image_feature", "label_feature", "pipeline_threads", "unmapped", "out"},
          .report = &state->report,
          .run = [state] {
            jobs::Job job = state->job.job();
            jobs::configure_context(job, &state->report.people());
            state->report.write(jobs::prepare(job, &state->report.people()));
            return kOk;
          }};
}

}  // namespace stoker::app
