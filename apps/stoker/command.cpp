#include "command.h"

#include <iostream>

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace stoker::app {

std::ostream& Report::people() const { return json == "-" ? std::cerr : std::cout; }

void Report::write(const nlohmann::json& value) const {
  if (json.empty()) return;
  std::string text = value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (json == "-")
    std::cout << text << std::flush;
  else
    write_file_atomically(json, text);
}

jobs::Job JobOptions::job(jobs::Job defaults) const {
  jobs::Job job = file.empty() ? std::move(defaults) : jobs::read_job(file);
  for (const auto& [name, text] : given) jobs::set_field(job, name, text);
  return job;
}

Option model_word(std::string& path) {
  return {"model", "MODEL", "a .stoker file, or the folder of `stoker train --out`", &path, true};
}

}  // namespace stoker::app
