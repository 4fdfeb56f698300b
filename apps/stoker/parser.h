// The parser of a command, by CLI11. Only main.cpp includes this.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "command.h"

namespace stoker::app {

CLI::App* add_command(CLI::App& program, Command& command);

}  // namespace stoker::app
