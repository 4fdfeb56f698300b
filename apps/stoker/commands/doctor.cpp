#include <algorithm>
#include <memory>
#include <ostream>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/diagnose_job.h"
#include "observe/environment.h"

namespace stoker::app {

namespace {

int check_environment(const Report& report) {
  std::vector<EnvironmentCheck> checks = judge_environment(look_at_environment());
  report.people() << to_text(checks);
  nlohmann::json list = nlohmann::json::array();
  for (const EnvironmentCheck& check : checks)
    list.push_back({{"what", check.what},
                    {"found", check.found},
                    {"result", name(check.result)},
                    {"advice", check.advice}});
  report.write(list);
  bool wrong = std::ranges::any_of(
      checks, [](const auto& check) { return check.result == CheckResult::wrong; });
  return wrong ? kFailed : kOk;
}

}  // namespace

Command doctor_command() {
  struct State {
    bool environment = false, fix = false;
    int64_t steps = 150;
    JobOptions job;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {
      .name = "doctor",
      .meaning = "Why is this training not faster, and what to change",
      .examples =
          "  stoker doctor --env                          judge driver, GPUs, cores, memory, disk\n"
          "  stoker doctor --data photos --model resnet18 --out report\n"
          "  stoker doctor --job digits.toml --fix        try what cannot change results",
      .options = {{"--env", "",
                   "Judge driver, GPUs, cores, memory and disk; exit status 1: something is wrong",
                   &state->environment},
                  {"--fix", "", "Try settings that cannot change results", &state->fix},
                  {"--steps", "N", "Steps to look at (150)", &state->steps}},
      .job = &state->job,
      .report = &state->report,
      .run = [state] {
        if (state->environment) return check_environment(state->report);
        state->report.write(jobs::diagnose_job(state->job.job(), state->steps, state->fix,
                                               &state->report.people()));
        return kOk;
      }};
}

}  // namespace stoker::app
