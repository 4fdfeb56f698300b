#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/train_job.h"

namespace stoker::app {

Command verify_resume_command() {
  struct State {
    int64_t stop_after = 10;
    JobOptions job;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {.name = "verify-resume",
          .meaning = "Prove on your job that stopping and going on changes nothing",
          .examples =
              "  stoker verify-resume --job digits.toml --epochs 2 --stop-after 25 --out proof\n"
              "Trains twice, once stopped and gone on with, and compares weights and history.",
          .options = {{"--stop-after", "STEPS", "when the second training is stopped [10]",
                       &state->stop_after}},
          .job = &state->job,
          .report = &state->report,
          .run = [state] {
            jobs::Job job = state->job.job();
            std::string folder = job.out.empty() ? "verify-resume" : job.out;
            nlohmann::json result =
                jobs::verify_resume(job, {state->stop_after}, folder, &state->report.people());
            state->report.write(result);
            return result["same"].get<bool>() ? kOk : kFailed;
          }};
}

}  // namespace stoker::app
