#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/compress_job.h"
#include "jobs/run_folder.h"
#include "jobs/train_job.h"

namespace stoker::app {

Command compare_command() {
  struct State {
    std::vector<std::string> models;
    int64_t seconds = 4;
    std::string page;
    JobOptions job;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {
      .name = "compare",
      .meaning = "What trained models cost, and how good they are, side by side",
      .examples =
          "  stoker compare runs/a runs/a/int8             on the data of the first\n"
          "  stoker compare a.stoker b.stoker --data idx:mnist --html compare.html",
      .options = {{"models", "MODELS", "two or more: folders of runs, or .stoker files",
                   &state->models, true},
                  {"--seconds", "N", "Time for measuring steps (4); 0: none", &state->seconds},
                  {"--html", "FILE", "Write it as a page too", &state->page}},
      .job = &state->job,
      .fields = {"data", "validation_data", "validation_split", "image_feature", "label_feature",
                 "label_column", "missing", "na_values", "delimiter", "no_header", "batch",
                 "device", "precision", "threads", "pipeline_threads", "unmapped"},
      .report = &state->report,
      .run = [state] {
        std::ostream& people = state->report.people();
        jobs::Job trained_by =
            state->models.empty() ? jobs::Job() : jobs::job_beside(state->models.front());
        trained_by.device = jobs::Job().device;  // what it was trained on need not be here
        jobs::Job job = state->job.job(trained_by);
        jobs::configure_context(job, &people);
        state->report.write(
            jobs::compare_models(state->models, job, double(state->seconds), state->page, &people));
        return kOk;
      }};
}

}  // namespace stoker::app
