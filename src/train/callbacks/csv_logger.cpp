#include <algorithm>

#include <fmt/format.h>

#include "base/file.h"
#include "base/writable.h"
#include "train/callback_support.h"

namespace stoker {

namespace {

constexpr const char* kCSVLogger = "CSVLogger";

// As the csv module of Python writes it: in quotes only where it must be.
std::string cell(const std::string& text, const std::string& separator) {
  if (text.find_first_of("\"\n\r") == std::string::npos &&
      text.find(separator) == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

CSVLogger::CSVLogger(std::string filename, CSVLoggerOptions options)
    : filename_(std::move(filename)), options_(std::move(options)) {
  if (options_.separator.empty())
    throw ValueError(fmt::format("{}: the separator is empty", kCSVLogger));
}

void CSVLogger::on_train_begin() {
  check_can_write_file(filename_);
  begun_ = false;
  bytes_ = 0;
  keep_.reset();
}

// The file that a first epoch meets is emptied, kept, or cut back to where a restored training was.
void CSVLogger::begin_file(const Logs& logs) {
  columns_ = logs.names();
  std::ranges::sort(columns_);
  std::string header = "epoch";
  for (const std::string& column : columns_)
    header += options_.separator + cell(column, options_.separator);
  bool keep = options_.append || keep_;
  std::string text = keep && local_files().exists(filename_) ? read_text(filename_) : "";
  if (keep_ && size_t(*keep_) < text.size()) {
    text.resize(size_t(*keep_));
    write_file_atomically(filename_, text);
  }
  if (text.empty()) {
    text = header + "\n";
    make_folder_of(filename_);
    local_files().create(filename_, FileSystem::Write::replace)->write(as_bytes(text));
  } else if (first_line(text) != header) {
    throw ValueError(fmt::format("{}: {} has the columns \"{}\", this training \"{}\"", kCSVLogger,
                                 filename_, first_line(text), header));
  }
  bytes_ = int64_t(text.size());
  begun_ = true;
}

void CSVLogger::on_epoch_end(int64_t epoch, const Logs& logs) {
  if (!begun_) begin_file(logs);
  std::string line = fmt::format("{}", epoch);
  for (const std::string& column : columns_)
    line += options_.separator + (logs.has(column) ? fmt::format("{}", logs[column]) : "NA");
  line += "\n";
  local_files().create(filename_, FileSystem::Write::append)->write(as_bytes(line));
  bytes_ += int64_t(line.size());
}

CallbackState CSVLogger::state() const { return {.values = {{"bytes", bytes_}}}; }

void CSVLogger::restore(const CallbackState& state) {
  int64_t bytes = remembered<int64_t>(state, kCSVLogger, "bytes");
  if (bytes < 0)
    throw ValueError(fmt::format("{}: the saved state has {} bytes", kCSVLogger, bytes));
  bytes_ = bytes;
  if (bytes > 0) keep_ = bytes;
}

}  // namespace stoker
