#include "parser.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace stoker::app {

namespace {

void add_option(CLI::App* parser, const Option& option) {
  CLI::Option* added = std::visit(
      [&](auto* to) {
        if constexpr (std::is_same_v<decltype(to), bool*>)
          return parser->add_flag(option.name, *to, option.meaning);
        else if constexpr (std::is_same_v<decltype(to), int64_t*>)  // all of them count something
          return parser->add_option(option.name, *to, option.meaning)
              ->check(CLI::PositiveNumber)
              ->type_name(option.value);
        else
          return parser->add_option(option.name, *to, option.meaning)->type_name(option.value);
      },
      option.to);
  added->required(option.required);
}

std::string option_name(std::string_view field) {
  std::string name = "--" + std::string(field);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string meaning_of(const jobs::JobField& field) {
  nlohmann::json fallback = field.get({});
  std::string meaning(field.meaning);
  if (field.value.empty() || fallback.is_null() || fallback == "") return meaning;
  return meaning + " [" + (fallback.is_string() ? fallback.get<std::string>() : fallback.dump()) +
         "]";
}

void add_field(CLI::App* parser, JobOptions& options, const jobs::JobField& field) {
  auto keep = [&options, name = std::string(field.name)](const std::string& text) {
    options.given.emplace_back(name, text);
  };
  CLI::Option* added = nullptr;
  if (field.value.empty())
    added = parser->add_flag_function(
        option_name(field.name), [keep](int64_t) { keep("true"); }, meaning_of(field));
  else
    added =
        parser->add_option_function<std::string>(option_name(field.name), keep, meaning_of(field))
            ->type_name(std::string(field.value));
  added->group(std::string(field.group));
}

}  // namespace

CLI::App* add_command(CLI::App& program, Command& command) {
  CLI::App* parser = program.add_subcommand(command.name, command.meaning);
  for (const Option& option : command.options) add_option(parser, option);
  if (command.job != nullptr) {
    parser
        ->add_option("--job", command.job->file,
                     "a job file; what stands on the command line goes over it")
        ->type_name("FILE.toml|FILE.json");
    for (const jobs::JobField& field : jobs::job_fields())
      if (command.fields.empty() || std::find(command.fields.begin(), command.fields.end(),
                                              field.name) != command.fields.end())
        add_field(parser, *command.job, field);
  }
  if (command.report != nullptr)
    parser->add_option("--json", command.report->json, "write the figures; - is standard output")
        ->type_name("FILE")
        ->group("Output");
  parser->footer("Examples:\n" + command.examples);
  return parser;
}

}  // namespace stoker::app
