#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "jobs/export_model.h"

namespace stoker::app {

Command export_command() {
  struct State {
    std::string model, file;
    Report report;
  };
  auto state = std::make_shared<State>();
  return {
      .name = "export",
      .meaning = "Write a trained model for other programs",
      .examples =
          "  stoker export runs/a model.onnx             for ONNX Runtime and others\n"
          "  stoker export runs/a weights.safetensors    the weights by name\n"
          "  stoker export runs/a small.stoker           without the optimiser's state",
      .options = {model_word(state->model),
                  {"file", "FILE", "to write: .onnx, .safetensors or .stoker", &state->file, true}},
      .report = &state->report,
      .run = [state] {
        state->report.write(jobs::export_model(jobs::open_trained(state->model), state->file,
                                               &state->report.people()));
        return kOk;
      }};
}

}  // namespace stoker::app
