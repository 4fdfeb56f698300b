#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/inspect.h"
#include "jobs/train_job.h"

namespace stoker::app {

Command bench_command() {
  struct State {
    std::string model = "cnn";
    int64_t steps = 50;
    JobOptions job;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {
      .name = "bench",
      .meaning = "Time the training step of a model on made-up pictures",
      .examples =
          "  stoker bench cnn --batch 128\n"
          "  stoker bench resnet50 --batch auto --device cuda --precision mixed_bfloat16",
      .options = {{"model", "MODEL", "a network's name, a .stoker file or a run's folder [cnn]",
                   &state->model},
                  {"--steps", "N", "that are timed [50]", &state->steps}},
      .job = &state->job,
      .fields = {"image_size", "classes", "batch", "optimizer", "device", "precision", "threads"},
      .report = &state->report,
      .run = [state] {
        jobs::Job job = state->job.job();
        job.model = state->model;
        jobs::configure_context(job, &state->report.people());
        state->report.write(jobs::bench_step(job, state->steps, &state->report.people()));
        return kOk;
      }};
}

}  // namespace stoker::app
