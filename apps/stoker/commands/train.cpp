#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/train_job.h"

namespace stoker::app {

Command train_command() {
  struct State {
    JobOptions job;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {.name = "train",
          .meaning = "Train a model on your data",
          .examples =
              "  stoker train --data photos --model resnet18 --image-size 128 --out runs/a\n"
              "  stoker train --data idx:mnist --model cnn --epochs 3 --seed 1 --out runs/b\n"
              "  stoker train --data csv:iris.csv --label-column species --model mlp --out runs/c\n"
              "  stoker train --job digits.toml --batch auto --json result.json",
          .job = &state->job,
          .report = &state->report,
          .run = [state] {
            nlohmann::json result = jobs::train(state->job.job(), &state->report.people());
            state->report.write(result);
            nlohmann::json problems = result.value("problems", nlohmann::json::array());
            for (const auto& problem : problems) complain(problem.get<std::string>());
            return problems.empty() ? kOk : kFailed;
          }};
}

}  // namespace stoker::app
