#include "train/fit/progress.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/convert.h"

namespace stoker {

namespace {

constexpr int kShortestBar = 10, kLongestBar = 30;

std::string with_thousands(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (auto at = int64_t(digits.size()) - 3; at > 0; at -= 3) digits.insert(size_t(at), ",");
  return digits;
}

std::string step_time(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s/step", seconds);
  if (seconds >= 0.1) return fmt::format("{:.0f} ms/step", seconds * 1e3);
  if (seconds >= 1e-3) return fmt::format("{:.1f} ms/step", seconds * 1e3);
  return fmt::format("{:.0f} µs/step", seconds * 1e6);
}

// Columns on the screen: bytes that do not continue a character.
int columns(const std::string& text) {
  return int(std::ranges::count_if(text, [](char c) { return (uint8_t(c) & 0xC0) != 0x80; }));
}

// One part of a line; those of a high `rank` leave first when it is too long.
struct Part {
  std::string text;
  int rank = 0;
};

std::vector<Part> parts_of(const Progress& now) {
  std::vector<Part> parts;
  parts.push_back(
      {now.total ? fmt::format("{}/{}", now.step, *now.total) : fmt::format("{} steps", now.step),
       0});
  if (now.total && now.seconds_per_step > 0)
    parts.push_back({"ETA " + clock_time(double(*now.total - now.step) * now.seconds_per_step), 2});
  if (now.seconds_per_step > 0) parts.push_back({step_time(now.seconds_per_step), 50});
  if (now.samples_per_second > 0)
    parts.push_back({with_thousands(now.samples_per_second) + " samples/s", 60});
  for (size_t i = 0; i < now.numbers.size(); ++i)
    parts.push_back({now.numbers[i], i == 0 ? 1 : 10 + int(std::min<size_t>(i, 30))});
  if (!now.status.empty()) parts.push_back({now.status, 45});
  return parts;
}

int width_of(const std::vector<Part>& parts) {
  int width = 0;
  for (const Part& part : parts) width += 2 + columns(part.text);
  return width;
}

}  // namespace

std::string clock_time(double seconds) {
  auto whole = convert<int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string progress_bar(double share, int width, bool colour) {
  int halves = convert<int>(std::clamp(share, 0.0, 1.0) * 2 * width);
  std::string done, rest;
  for (int i = 0; i < halves / 2; ++i) done += "━";
  if (halves % 2 == 1) done += "╸";
  for (int i = (halves + 1) / 2; i < width; ++i) rest += "─";
  if (!colour) return done + rest;
  return "\x1b[32m" + done + "\x1b[0m\x1b[2m" + rest + "\x1b[0m";
}

std::string live_line(const Progress& progress, const Terminal& terminal) {
  std::vector<Part> parts = parts_of(progress);
  int bar_room = progress.total ? 2 + kShortestBar : 0;
  auto room = [&] {  // the last column stays free: some terminals wrap there
    return terminal.width - 1 - columns(progress.title) - width_of(parts);
  };
  while (room() < bar_room && parts.size() > 1) {
    auto least = std::ranges::max_element(parts, {}, &Part::rank);
    if (least->rank == 0) break;
    parts.erase(least);
  }
  std::string line = progress.title;
  if (progress.total && room() >= bar_room)
    line += "  " +
            progress_bar(*progress.total > 0 ? double(progress.step) / double(*progress.total) : 1,
                         std::min(room() - 2, kLongestBar), terminal.colour);
  for (const Part& part : parts) line += "  " + part.text;
  return line;
}

std::string final_line(const Progress& progress) {
  std::string line = fmt::format("{}  {} step{}  {:.1f} s", progress.title, progress.step,
                                 progress.step == 1 ? "" : "s", progress.seconds);
  if (progress.seconds_per_step > 0) line += "  " + step_time(progress.seconds_per_step);
  if (progress.samples_per_second > 0)
    line += "  " + with_thousands(progress.samples_per_second) + " samples/s";
  if (!progress.numbers.empty()) line += fmt::format("  {}", fmt::join(progress.numbers, "  "));
  if (!progress.status.empty()) line += "  " + progress.status;
  return line;
}

}  // namespace stoker
