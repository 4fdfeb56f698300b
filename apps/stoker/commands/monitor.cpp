#include <ctime>
#include <iostream>
#include <memory>

#include "commands.h"
#include "jobs/diagnose_job.h"

namespace stoker::app {

Command monitor_command() {
  struct State {
    std::string folder;
    bool once = false;
  };
  auto state = std::make_shared<State>();
  return {.name = "monitor",
          .meaning = "Watch a running fit and the machine's GPUs",
          .examples =
              "  stoker monitor runs/a           until Ctrl-C\n"
              "  stoker monitor runs/a --once    one screen",
          .options = {{"folder", "DIR", "The folder of the run", &state->folder, true},
                      {"--once", "", "One screen, then end", &state->once}},
          .run = [state] {
            while (std::cout) {
              std::string screen = jobs::monitor_screen(state->folder);
              if (state->once) {
                std::cout << screen;
                return kOk;
              }
              std::cout << "\x1b[H\x1b[2J" << screen << std::flush;
              timespec second{.tv_sec = 1, .tv_nsec = 0};
              nanosleep(&second, nullptr);
            }
            return kFailed;  // nothing can be shown any more
          }};
}

}  // namespace stoker::app
