// The live worker of the step workloads: one JSON object a line on stdin, one answer a line on
// stdout, as workers/protocol.py describes.
#pragma once

#include <string>

namespace stoker::peers {

void serve_steps();

// Every kernel of the step with its time; `workload` is "residual/32".
void profile(const std::string& workload);

}  // namespace stoker::peers
