// The command line of Stoker. Thin: a command reads its options and calls src/jobs.
#include <cerrno>
#include <csignal>
#include <iostream>
#include <system_error>
#include <vector>

#include <stoker/error.h>
#include <stoker/version.h>

#include "base/printable.h"
#include "commands.h"
#include "jobs/strategy_of.h"
#include "parser.h"
#include "standard_output.h"

namespace {

using namespace stoker::app;

std::vector<Command> all_commands() {
  return {demo_command(),    train_command(),         evaluate_command(), predict_command(),
          compare_command(), compress_command(),      prepare_command(),  inspect_command(),
          export_command(),  verify_resume_command(), doctor_command(),   monitor_command(),
          bench_command()};
}

// What stands where a command should, if it is none.
std::string unknown_command(int argc, char** argv, const std::vector<Command>& commands) {
  std::string word = argc > 1 ? argv[1] : "", names;
  if (word.empty() || word[0] == '-') return "";
  for (const Command& command : commands) {
    if (command.name == word) return "";
    names += (names.empty() ? "" : ", ") + command.name;
  }
  return "unknown command \"" + word + "\"; there are " + names;
}

int run(int argc, char** argv) {
  CLI::App program(
      "Trains Keras-style models, and says what limits them.\n"
      "`stoker COMMAND --help` explains a command.",
      "stoker");
  program.set_version_flag("--version", stoker::version());
  program.require_subcommand(1);
  program.failure_message(CLI::FailureMessage::simple);
  program.footer(
      "Exit status: 0 done, 1 failed, 2 wrong options, 3 done in part, 129, 130 or 143 interrupted "
      "and saved.");
  std::vector<Command> commands = all_commands();
  std::vector<CLI::App*> parsers;
  parsers.reserve(commands.size());
  for (Command& command : commands) parsers.push_back(add_command(program, command));
  if (std::string unknown = unknown_command(argc, argv, commands); !unknown.empty()) {
    complain(unknown);
    return kUsage;
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kOk : kUsage;
  }
  for (size_t i = 0; i < commands.size(); ++i)
    if (parsers[i]->parsed()) return commands[i].run();
  return kUsage;
}

int run_and_tell(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const stoker::Interrupted& interrupted) {
    if (!stoker::jobs::speaks()) return interrupted.exit_code();
    std::cerr << stoker::printable_lines(interrupted.what()) << std::endl;
    return interrupted.exit_code();
  } catch (const std::exception& error) {
    bool usage = dynamic_cast<const stoker::jobs::OptionError*>(&error) != nullptr;
    std::cout << std::flush;
    if (stoker::jobs::speaks()) complain(error.what());  // of several processes one tells it
    return usage ? kUsage : kFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  StandardOutput output;
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is an error, not the end
  int status = run_and_tell(argc, argv);
  int lost = output.finish();
  if (lost == 0) return status;
  if (lost != EPIPE)  // `| head` has seen enough
    complain("standard output: writing failed: " + std::generic_category().message(lost));
  return status == kOk ? kFailed : status;
}
