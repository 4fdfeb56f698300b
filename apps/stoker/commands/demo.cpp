#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/demo.h"

namespace stoker::app {

Command demo_command() {
  struct State {
    jobs::DemoOptions demo;
    bool quick = false;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {
      .name = "demo",
      .meaning = "Train a small CNN twice: as most people write it, and as Stoker runs it",
      .examples = "  stoker demo\n  stoker demo --explain --json demo.json",
      .options = {{"--out", "DIR", "where its pictures go, and stay [stoker-demo]",
                   &state->demo.folder},
                  {"--epochs", "N", "of each of the two runs [3]", &state->demo.epochs},
                  {"--explain", "", "also print both pipelines' plans", &state->demo.explain},
                  {"--quick", "", "a few pictures, one epoch: does it run at all?", &state->quick}},
      .report = &state->report,
      .run = [state] {
        if (state->quick) {
          state->demo.pictures = {.train = 80, .val = 20, .height = 120, .width = 160};
          state->demo.epochs = 1;
        }
        nlohmann::json result = run_demo(state->demo, state->report.people());
        state->report.write(result);
        return result["same_weights"].get<bool>() ? kOk : kFailed;
      }};
}

}  // namespace stoker::app
