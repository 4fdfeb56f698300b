#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/data_kinds.h"
#include "jobs/train_job.h"
#include "jobs/use_model.h"

namespace stoker::app {

Command predict_command() {
  struct State {
    std::string model;
    std::vector<std::string> data;
    int64_t top = 1;
    JobOptions job;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {.name = "predict",
          .meaning = "What a trained model makes of pictures or rows",
          .examples =
              "  stoker predict runs/a cat.jpg dog.jpg\n"
              "  stoker predict runs/a new-photos --top 3 --json predictions.json\n"
              "  stoker predict runs/b csv:new.csv",
          .options = {model_word(state->model),
                      {"data", "FILE|DIR|SPEC",
                       std::string("image files, folders of them, ") + jobs::kRowSpecs,
                       &state->data, true},
                      {"--top", "N", "how many classes to name [1]", &state->top}},
          .job = &state->job,
          .fields = {"device", "threads", "pipeline_threads", "missing"},
          .report = &state->report,
          .run = [state] {
            std::ostream& people = state->report.people();
            jobs::Job given = state->job.job();
            jobs::configure_context(given, &people);
            jobs::TrainedModel trained = jobs::open_trained(state->model);
            if (!given.missing.empty()) trained.job.missing = given.missing;
            nlohmann::json rows = jobs::predict(trained, state->data, state->top, &people);
            state->report.write(rows);
            size_t bad = 0;
            for (const nlohmann::json& row : rows)
              if (row.contains("error")) {
                complain(row["error"].get<std::string>());
                ++bad;
              }
            return bad == 0 ? kOk : bad == rows.size() ? kFailed : kPartly;
          }};
}

}  // namespace stoker::app
