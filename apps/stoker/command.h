// A command of the program, as data: main.cpp turns it into a parser. Each lives in a file of its
// own under commands/; adding one is a function there, its line in commands.h and its place in the
// list of main.cpp.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "jobs/job.h"

namespace stoker::app {

// What the program returns.
inline constexpr int kOk = 0, kFailed = 1, kUsage = 2;  // 129, 130, 143: SIGHUP, SIGINT, SIGTERM
inline constexpr int kPartly = 3;                       // some of the input could not be used

// One line on standard error: "stoker: …".
void complain(const std::string& problem);

// --json FILE, and the stream for readable output: standard output, or standard error when the JSON
// goes to standard output.
struct Report {
  std::string json;
  std::ostream& people() const;
  void write(const nlohmann::json& value) const;  // does nothing without --json
};

// Options that are fields of a job. They override the file that --job names.
struct JobOptions {
  std::string file;
  std::vector<std::pair<std::string, std::string>> given;  // field, text
  jobs::Job job(jobs::Job defaults = {}) const;
};

// An option of one command, and where its value goes. Without dashes it is a positional argument.
struct Option {
  std::string name, value, meaning;
  std::variant<bool*, int64_t*, std::string*, std::vector<std::string>*> to;
  bool required = false;
};

struct Command {
  std::string name, meaning;
  std::string examples;  // lines
  std::vector<Option> options = {};
  JobOptions* job = nullptr;                  // null: it takes no fields of a job
  std::vector<std::string_view> fields = {};  // which; empty: all
  Report* report = nullptr;
  std::function<int()> run = {};  // after parsing; returns one of the above
};

// The first word of commands that use what was trained.
Option model_word(std::string& path);

}  // namespace stoker::app
