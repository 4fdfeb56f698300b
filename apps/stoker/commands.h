// The commands, in the order of the help.
#pragma once

#include "command.h"

namespace stoker::app {

Command demo_command();
Command train_command();
Command evaluate_command();
Command predict_command();
Command compare_command();
Command compress_command();
Command prepare_command();
Command inspect_command();
Command export_command();
Command verify_resume_command();
Command doctor_command();
Command monitor_command();
Command bench_command();

}  // namespace stoker::app
