#include "jobs/export_model.h"

#include <filesystem>

#include <fmt/ostream.h>
#include <stoker/onnx.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "train/model/memory_table.h"

namespace stoker::jobs {

nlohmann::json export_model(const TrainedModel& trained, const std::string& path,
                            std::ostream* out) {
  std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".onnx")
    export_onnx(trained.model, path);
  else if (ending == ".safetensors")
    trained.model.save_weights(path);
  else if (ending == ".stoker")
    trained.model.save(path, {.include_optimizer = false});
  else
    throw OptionError(
        fmt::format("{}: expected a file that ends in .onnx, .safetensors or .stoker", path));
  auto bytes = double(local_files().size(path));
  if (out != nullptr) fmt::print(*out, "{}  {}\n", path, human_bytes(bytes));
  return {{"model", trained.path}, {"file", path}, {"format", ending.substr(1)}, {"bytes", bytes}};
}

}  // namespace stoker::jobs
