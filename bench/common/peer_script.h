// Peers that a script measures.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/report.h"

namespace stoker::bench {

using Peers = std::map<std::string, std::vector<Peer>>;  // by row

// Runs `python3 COMMAND`, which prints one JSON object per line: {"row", "peer", "value", "unit"}.
// Empty: none. Shows the lines as they come.
Peers run_peer_script(const std::string& command);

}  // namespace stoker::bench
