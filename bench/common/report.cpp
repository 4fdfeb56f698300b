#include "common/report.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace stoker::bench {

namespace {

std::string number(double value) {
  double size = value < 0 ? -value : value;
  return size >= 100 || value == double(int64_t(value)) ? fmt::format("{:.0f}", value)
         : size >= 10                                   ? fmt::format("{:.1f}", value)
                                                        : fmt::format("{:.2f}", value);
}

std::string with_unit(double value, const std::string& unit) { return number(value) + " " + unit; }

std::string bar_text(const Row& row) {
  if (!row.bar) return "";
  return (row.better == Better::higher ? "≥ " : "≤ ") + with_unit(*row.bar, row.unit);
}

std::string peer_text(const Row& row) {
  std::string text;
  for (const Peer& peer : row.peers)
    text += (text.empty() ? "" : ", ") + peer.name + " " + with_unit(peer.value, peer.unit);
  return text;
}

// Columns on a terminal: bytes that begin a character.
size_t width(const std::string& text) {
  return size_t(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, size_t columns) {
  return text + std::string(columns > width(text) ? columns - width(text) : 0, ' ');
}

nlohmann::json optional_json(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace

bool Report::all_met() const { return std::ranges::all_of(rows_, &Row::met); }

void Report::print(std::ostream& out) const {
  std::vector<std::vector<std::string>> lines = {
      {"what", "value", "bar", "met", "limit", "peers", "from"}};
  for (const Row& row : rows_)
    lines.push_back({row.name, with_unit(row.value, row.unit), bar_text(row),
                     row.bar ? row.met() ? "yes" : "NO" : "",
                     row.limit ? with_unit(*row.limit, row.unit) : "", peer_text(row), row.note});
  std::vector<size_t> widths(lines[0].size(), 0);
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));
  for (const auto& line : lines) {
    for (size_t i = 0; i + 1 < line.size(); ++i) out << padded(line[i], widths[i]) << "  ";
    out << line.back() << "\n";
  }
}

void Report::write_json(const std::string& path) const {
  nlohmann::json all = nlohmann::json::array();
  for (const Row& row : rows_) {
    nlohmann::json peers = nlohmann::json::array();
    for (const Peer& peer : row.peers)
      peers.push_back({{"name", peer.name}, {"value", peer.value}, {"unit", peer.unit}});
    all.push_back({{"name", row.name},
                   {"value", row.value},
                   {"unit", row.unit},
                   {"better", row.better == Better::higher ? "higher" : "lower"},
                   {"bar", optional_json(row.bar)},
                   {"met", row.met()},
                   {"limit", optional_json(row.limit)},
                   {"peers", peers},
                   {"note", row.note}});
  }
  write_file_atomically(path, all.dump(2) + "\n");
}

}  // namespace stoker::bench
