#include "common/peer_rows.h"

#include <algorithm>
#include <cstdio>

#include "common/peer_process.h"

namespace stoker::bench {

PeerRows::PeerRows(const Options& options, std::string folder, std::string script, std::string unit)
    : options_(options),
      folder_(std::move(folder)),
      script_(std::move(script)),
      unit_(std::move(unit)),
      peers_(ask()) {}

// What the peers reach, by name; empty where there are none.
std::map<std::string, double> PeerRows::ask() const {
  std::string python = peers_python();
  std::map<std::string, double> rates;
  if (python.empty()) return rates;
  std::string command = "'" + python + "' '" STOKER_BENCH_SOURCE_DIR "/" + script_ + "' '" +
                        folder_ + "' 2>/dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return rates;
  char name[64];
  double rate = 0;
  while (std::fscanf(pipe, "%63s %lf", name, &rate) == 2) rates[name] = rate;
  ::pclose(pipe);
  return rates;
}

void PeerRows::finish(Report& report) {
  for (const auto& [name, rate] : ask()) peers_[name] = std::max(peers_[name], rate);
  for (auto& [row, peers, bar] : rows_) {
    std::vector<std::string> found;
    for (const std::string& peer : peers)
      if (peers_.contains(peer)) found.push_back(peer);
    for (const std::string& peer : found) row.peers.push_back({peer, peers_[peer], unit_});
    report.add(row);
    for (const std::string& peer : found)
      report.add({.name = row.name + " / " + peer,
                  .value = row.value / peers_[peer],
                  .unit = "x",
                  .bar = bar});
  }
}

}  // namespace stoker::bench
