#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/inspect.h"
#include "jobs/strategy_of.h"
#include "jobs/train_job.h"

namespace stoker::app {

Command bench_command() {
  struct State {
    std::string model;  // none: --model
    int64_t steps = 50;
    JobOptions job;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {.name = "bench",
          .meaning = "Time the training step of a model on made-up pictures",
          .examples =
              "  stoker bench cnn --batch 128\n"
              "  stoker bench resnet50 --batch auto --device cuda --precision mixed_bfloat16\n"
              "  stoker bench scaling --model resnet18 --devices cpu:4 --batch 32\n"
              "  mpirun -n 2 stoker bench scaling --model mobilenet --batch 32",
          .options =
              {{"model", "MODEL",
                "a network, a .stoker file, a run's folder, or \"scaling\" (several devices) [cnn]",
                &state->model},
               {"--steps", "N", "that are timed [50]", &state->steps}},
          .job = &state->job,
          .fields = {"model", "image_size", "classes", "batch", "optimizer", "device", "devices",
                     "precision", "threads"},
          .report = &state->report,
          .run = [state] {
            jobs::Job job = state->job.job();
            bool scaling = state->model == "scaling";
            if (!scaling && !job.devices.empty())
              throw jobs::OptionError("devices: several are measured by `stoker bench scaling`");
            if (!scaling && !state->model.empty()) {
              if (std::ranges::any_of(state->job.given,
                                      [](const auto& g) { return g.first == "model"; }))
                throw jobs::OptionError("model: given twice, as \"" + state->model +
                                        "\" and with --model");
              job.model = state->model;
            }
            if (scaling) {
              std::ostream* people =
                  jobs::process_number() == 0 ? &state->report.people() : nullptr;
              jobs::configure_context(job, people);
              nlohmann::json result = jobs::bench_scaling(job, state->steps, people);
              if (jobs::process_number() == 0) state->report.write(result);
              return kOk;
            }
            jobs::configure_context(job, &state->report.people());
            state->report.write(jobs::bench_step(job, state->steps, &state->report.people()));
            return kOk;
          }};
}

}  // namespace stoker::app
