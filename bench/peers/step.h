// The live worker of the step workloads: one JSON object a line on stdin, one answer a line on
// stdout, as workers/protocol.py describes.
#pragma once

namespace stoker::peers {

void serve_steps();

}  // namespace stoker::peers
