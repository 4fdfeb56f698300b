#include "jobs/classes_file.h"

#include <stoker/error.h>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace stoker::jobs {

using nlohmann::json;

void write_classes(const std::string& folder, const std::vector<std::string>& names) {
  write_file_atomically(folder + "/classes.json", json(names).dump(2) + "\n");
}

std::vector<std::string> read_classes(const std::string& folder) {
  std::string path = folder + "/classes.json";
  if (!local_files().exists(path)) return {};
  json names = json::parse(read_text(path), nullptr, false);
  bool fits = names.is_array() && std::all_of(names.begin(), names.end(),
                                              [](const json& name) { return name.is_string(); });
  if (!fits) throw FileError(path + ": expected a list of class names");
  return names.get<std::vector<std::string>>();
}

}  // namespace stoker::jobs
