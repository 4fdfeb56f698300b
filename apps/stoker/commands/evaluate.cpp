#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/train_job.h"
#include "jobs/use_model.h"

namespace stoker::app {

Command evaluate_command() {
  struct State {
    std::string model;
    JobOptions job;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {
      .name = "evaluate",
      .meaning = "Loss and accuracy of a trained model",
      .examples =
          "  stoker evaluate runs/a                     on the data it was trained with\n"
          "  stoker evaluate runs/a --data new-photos\n"
          "  stoker evaluate model.stoker --data idx:mnist --json -",
      .options = {model_word(state->model)},
      .job = &state->job,
      .fields = {"data", "validation_data", "validation_split", "image_feature", "label_feature",
                 "label_column", "missing", "na_values", "delimiter", "no_header", "batch",
                 "device", "precision", "threads", "pipeline_threads", "unmapped"},
      .report = &state->report,
      .run = [state] {
        std::ostream& people = state->report.people();
        jobs::Job trained_by = jobs::job_beside(state->model);
        trained_by.device = jobs::Job().device;  // what it was trained on need not be here
        jobs::Job job = state->job.job(trained_by);
        jobs::configure_context(job, &people);
        state->report.write(jobs::evaluate(jobs::open_trained(state->model), job, &people));
        return kOk;
      }};
}

}  // namespace stoker::app
