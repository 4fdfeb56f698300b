#include "common/peer_script.h"

#include <cstdio>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

namespace stoker::bench {

Peers run_peer_script(const std::string& command) {
  Peers peers;
  if (command.empty()) return peers;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("python3 " + command).c_str(), "r"), pclose);
  char line[4096];
  while (pipe != nullptr && fgets(line, sizeof line, pipe.get()) != nullptr) {
    nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
    if (row.is_discarded() || !row.contains("row")) continue;
    peers[row["row"]].push_back({row["peer"], row["value"], row["unit"]});
    std::cout << "  " << row["row"] << ", " << row["peer"] << ": " << row["value"] << " "
              << row["unit"] << std::endl;
  }
  return peers;
}

}  // namespace stoker::bench
