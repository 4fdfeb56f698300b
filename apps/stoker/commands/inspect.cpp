#include <memory>
#include <ostream>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/inspect.h"
#include "jobs/train_job.h"

namespace stoker::app {

Command inspect_command() {
  struct State {
    std::string model;
    int64_t measure = 0;
    JobOptions job;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {.name = "inspect",
          .meaning = "This machine; a model and its memory plan; a pipeline and its plan",
          .examples =
              "  stoker inspect                                   what Stoker finds here\n"
              "  stoker inspect resnet50 --batch 64               layers, FLOPs, memory plan\n"
              "  stoker inspect runs/a\n"
              "  stoker inspect --data photos --measure 50        what input costs",
          .options = {{"model", "MODEL", "a network's name, a .stoker file or a run's folder",
                       &state->model},
                      {"--measure", "BATCHES",
                       "make so many, so that the pipeline's plan has figures", &state->measure}},
          .job = &state->job,
          .fields = {"data", "validation_split", "image_size", "classes", "image_feature",
                     "label_feature", "augment", "batch", "optimizer", "device", "precision",
                     "threads", "pipeline_threads", "as_written", "unmapped"},
          .report = &state->report,
          .run = [state] {
            jobs::Job job = state->job.job();
            std::ostream* people = &state->report.people();
            jobs::configure_context(job, people);
            nlohmann::json result{{"machine", jobs::inspect_machine(people)}};
            if (!state->model.empty()) {
              job.model = state->model;
              *people << "\n";
              result["model"] = jobs::inspect_model(job, people);
            }
            if (!job.data.empty()) {
              *people << "\n";
              result["data"] = jobs::inspect_data(job, state->measure, people);
            }
            state->report.write(result);
            return kOk;
          }};
}

}  // namespace stoker::app
