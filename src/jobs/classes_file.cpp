#include "jobs/classes_file.h"

#include <stoker/error.h>

#include "base/file.h"
#include "base/printable.h"
#include "formats/json.h"

namespace stoker::jobs {

using nlohmann::json;

void write_classes(const std::string& folder, const std::vector<std::string>& names) {
  json shown = json::array();  // a folder's name may be no UTF-8
  for (const std::string& name : names) shown.push_back(is_utf8(name) ? name : printable(name));
  write_file_atomically(folder + "/classes.json", dump_json(shown, 2) + "\n");
}

std::vector<std::string> read_classes(const std::string& folder) {
  std::string path = folder + "/classes.json";
  if (!local_files().exists(path)) return {};
  json names = try_parse_json(read_text(path));
  bool fits = names.is_array() && std::all_of(names.begin(), names.end(),
                                              [](const json& name) { return name.is_string(); });
  if (!fits) throw FileError(path + ": expected a list of class names");
  return names.get<std::vector<std::string>>();
}

}  // namespace stoker::jobs
