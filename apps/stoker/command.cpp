#include "command.h"

#include <iostream>

#include "base/file.h"
#include "base/printable.h"
#include "formats/json.h"

namespace stoker::app {

namespace {

// /dev/stdout may be a file that a shell holds open: opened once more, both writers would overwrite
// each other.
bool is_standard_output(const std::string& path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

}  // namespace

void complain(const std::string& problem) {
  std::cerr << "stoker: " << printable_lines(problem) << std::endl;
}

std::ostream& Report::people() const { return is_standard_output(json) ? std::cerr : std::cout; }

void Report::write(const nlohmann::json& value) const {
  if (json.empty()) return;
  std::string text = dump_report(value, 2) + "\n";
  if (is_standard_output(json))
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
