#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/compress_job.h"
#include "jobs/run_folder.h"
#include "jobs/train_job.h"

namespace stoker::app {

Command compress_command() {
  struct State {
    std::string run, prune, channels, student;
    bool int8 = false;
    int64_t seconds = 4;
    JobOptions job;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {.name = "compress",
          .meaning = "A smaller form of a trained model, and what it gains and costs",
          .examples =
              "  stoker compress runs/a --int8                 eight-bit weights and activations\n"
              "  stoker compress runs/a --prune 0.9            nine of ten weights become zero\n"
              "  stoker compress runs/a --channels 0.5         half the FLOPs\n"
              "  stoker compress runs/a --student mobilenet    a network that learns from it",
          .options = {model_word(state->run),
                      {"--int8", "", "Quantise, calibrated on training data", &state->int8},
                      {"--prune", "SHARE", "Prune this share of the weights, and train on",
                       &state->prune},
                      {"--channels", "SHARE",
                       "Remove channels until this share of the FLOPs is left, and train on",
                       &state->channels},
                      {"--student", "MODEL", "Distil into a network's name or a .stoker file",
                       &state->student},
                      {"--seconds", "N", "Time for measuring steps (4); 0: none", &state->seconds}},
          .job = &state->job,
          .fields = {"data",
                     "validation_data",
                     "validation_split",
                     "image_feature",
                     "label_feature",
                     "label_column",
                     "missing",
                     "na_values",
                     "delimiter",
                     "no_header",
                     "augment",
                     "batch",
                     "epochs",
                     "steps_per_epoch",
                     "learning_rate",
                     "optimizer",
                     "schedule",
                     "seed",
                     "device",
                     "precision",
                     "threads",
                     "pipeline_threads",
                     "unmapped",
                     "out",
                     "verbose"},
          .report = &state->report,
          .run = [state] {
            std::ostream& people = state->report.people();
            jobs::Compression what{.int8 = state->int8,
                                   .prune = jobs::share_option("--prune", state->prune),
                                   .channels = jobs::share_option("--channels", state->channels),
                                   .student = state->student};
            jobs::Job trained_by = jobs::job_beside(state->run);
            trained_by.device = jobs::Job().device;  // what it was trained on need not be here
            jobs::Job job = state->job.job(jobs::compression_job(what, trained_by));
            jobs::configure_context(job, &people);
            state->report.write(
                jobs::compress_model(state->run, what, job, double(state->seconds), &people));
            return kOk;
          }};
}

}  // namespace stoker::app
