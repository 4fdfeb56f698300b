#include "train/checkpoint/verify_resume.h"

#include <algorithm>
#include <bit>
#include <filesystem>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/file.h"

namespace stoker {

namespace {

std::string new_folder(const std::string& directory, const char* name) {
  std::string path = (std::filesystem::path(directory) / name).string();
  if (local_files().exists(path))
    throw FileError(fmt::format("{}: is there already; verify_resume begins anew", path));
  local_files().create_directories(path);
  return path;
}

// Bit for bit: two NaN are equal, 0 and -0 are not.
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, {}, std::bit_cast<uint64_t, double>,
                            std::bit_cast<uint64_t, double>);
}

std::vector<std::string> compare(const TrainingResult& undisturbed, const TrainingResult& resumed) {
  std::vector<std::string> lines;
  if (undisturbed.weights_sha256 != resumed.weights_sha256)
    lines.push_back(fmt::format("weights: {} undisturbed, {} resumed", undisturbed.weights_sha256,
                                resumed.weights_sha256));
  const History &first = undisturbed.history, &second = resumed.history;
  if (first.names() != second.names() || first.epochs() != second.epochs()) {
    lines.push_back(fmt::format("history: {} epochs of {} values undisturbed, {} of {} resumed",
                                first.epochs().size(), first.names().size(), second.epochs().size(),
                                second.names().size()));
    return lines;
  }
  for (const std::string& name : first.names())
    if (!same_bits(first[name], second[name]))
      lines.push_back(fmt::format("history: the values of \"{}\" differ", name));
  return lines;
}

}  // namespace

ResumeReport verify_resume(const ResumableTraining& train, const VerifyResumeOptions& options) {
  if (options.stops.empty() || std::ranges::any_of(options.stops, [](int64_t n) { return n < 1; }))
    throw ValueError("verify_resume: stops holds no number of steps, or one below 1");
  std::string whole = new_folder(options.directory, "undisturbed");
  std::string parts = new_folder(options.directory, "resumed");
  ResumeReport report;
  report.undisturbed = train(whole, {});
  bool ended = false;
  for (size_t i = 0; i < options.stops.size() && !ended; ++i) {
    try {
      report.resumed = train(parts, options.stops[i]);
      ended = true;
    } catch (const Interrupted&) {
      ++report.stops;
    }
  }
  if (!ended) report.resumed = train(parts, {});
  report.differences = compare(report.undisturbed, report.resumed);
  return report;
}

std::string to_string(const ResumeReport& report) {
  std::string text =
      fmt::format("undisturbed  {}\nresumed      {}  after {} stops\n",
                  report.undisturbed.weights_sha256, report.resumed.weights_sha256, report.stops);
  for (const std::string& line : report.differences) text += fmt::format("differs      {}\n", line);
  if (report.same())
    return text + "Resuming is exact: weights and history are equal bit for bit.\n";
  return text + (report.stops == 0
                     ? "Nothing was shown: the training ended before the first stop.\n"
                     : "Resuming is NOT exact.\n");
}

}  // namespace stoker
