#include "engine/plan_choices.h"

#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"

namespace stoker {

namespace {

// FNV-1a: a line that another process's crash cut short does not match it.
uint32_t checksum(std::string_view text) {
  uint32_t sum = 2166136261U;
  for (char c : text) sum = (sum ^ uint8_t(c)) * 16777619U;
  return sum;
}

// key, plan, candidates tried, checksum
std::string line_of(const std::string& key, const PlanChoices::Choice& choice) {
  std::string body = fmt::format("{}\t{}\t{}", key, choice.plan, choice.tried);
  return fmt::format("{}\t{:08x}\n", body, checksum(body));
}

std::optional<std::pair<std::string, PlanChoices::Choice>> read_line(const std::string& line) {
  std::vector<std::string> parts;
  std::istringstream words(line);
  for (std::string part; std::getline(words, part, '\t');) parts.push_back(part);
  if (parts.size() != 4 || parts[2].empty() || parts[2].size() > 6 ||
      parts[2].find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  PlanChoices::Choice choice{parts[1], size_t(std::stoul(parts[2]))};
  if (line + "\n" != line_of(parts[0], choice)) return std::nullopt;
  return std::pair(parts[0], choice);
}

// One write at the end of the file: lines of several processes do not mix.
void append(const std::string& path, const std::string& line) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] ssize_t written = write(file, line.data(), line.size());
  close(file);
}

}  // namespace

std::string PlanChoices::usual_folder() {
  if (const char* own = std::getenv("STOKER_PLANS")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return std::string(cache) + "/stoker";
  if (const char* home = std::getenv("HOME")) return std::string(home) + "/.cache/stoker";
  return "";
}

PlanChoices::PlanChoices(const std::string& folder, const std::string& fingerprint) {
  if (folder.empty()) return;
  std::string name = fingerprint;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  // The number: choices that were made in another way do not count.
  path_ = fmt::format("{}/plans-4-{}.txt", folder, name);
  load();
}

void PlanChoices::load() {
  std::ifstream file(path_);
  size_t lines = 0;
  std::deque<std::string> keys;  // in the order of the file; a key may stand there again
  for (std::string line; std::getline(file, line); ++lines)
    if (auto read = read_line(line)) {
      keys.push_back(read->first);
      choices_[read->first] = read->second;
    }
  bool shrinks = choices_.size() > kMost;
  std::map<std::string, size_t> left;
  for (const std::string& key : keys) ++left[key];
  while (choices_.size() > kMost) {
    if (--left[keys.front()] == 0) choices_.erase(keys.front());
    keys.pop_front();
  }
  // Damaged lines and ones that a later one replaces go too, once they are many.
  if (shrinks || lines > 2 * choices_.size() + 100) write_all();
}

void PlanChoices::write_all() const {
  std::string text;
  for (const auto& [key, choice] : choices_) text += line_of(key, choice);
  try {
    write_file_atomically(path_, text);
  } catch (const std::exception&) {  // it stays as it was
  }
}

std::optional<PlanChoices::Choice> PlanChoices::find(const std::string& key) {
  std::lock_guard lock(mutex_);
  std::optional<Choice> choice;
  if (auto own = preferred_.find(key); own != preferred_.end())
    choice = Choice{own->second};
  else if (auto found = choices_.find(key); found != choices_.end())
    choice = found->second;
  if (choice) used_[key] = choice->plan;
  return choice;
}

void PlanChoices::add(const std::string& key, const Choice& choice) {
  std::lock_guard lock(mutex_);
  used_[key] = choice.plan;
  choices_[key] = choice;
  if (!path_.empty()) append(path_, line_of(key, choice));
}

PlanChoices::Map PlanChoices::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

void PlanChoices::prefer(const Map& choices) {
  std::lock_guard lock(mutex_);
  preferred_ = choices;
}

}  // namespace stoker
