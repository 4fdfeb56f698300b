#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/writable.h"
#include "train/callbacks/callback_support.h"

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

template <>
const Fields<CSVLoggerOptions>& callback_fields() {
  static const Fields<CSVLoggerOptions> table = {
      {"separator", &CSVLoggerOptions::separator, not_empty()},
      {"append", &CSVLoggerOptions::append}};
  return table;
}

CSVLogger::CSVLogger(std::string filename, CSVLoggerOptions options)
    : filename_(std::move(filename)), options_(std::move(options)) {
  callback_fields<CSVLoggerOptions>().check(kCSVLogger, options_);
}

void CSVLogger::on_train_begin() {
  check_can_write_file(filename_);
  begun_ = torn_ = false;
  bytes_ = 0;
  columns_.clear();
  pending_.clear();
  keep_.reset();
}

void CSVLogger::on_train_end(const Logs&) {
  if (!pending_.empty()) write_pending();
}

// The file that a first epoch meets is emptied, kept, or cut back to where a restored training was.
void CSVLogger::begin_file() {
  std::string header = "epoch";
  for (const std::string& column : columns_)
    header += options_.separator + cell(column, options_.separator);
  bool keep = options_.append || keep_;
  std::string text = keep && local_files().exists(filename_) ? read_text(filename_) : "";
  bool cut = keep_ && size_t(*keep_) < text.size();
  if (cut) text.resize(size_t(*keep_));
  if (!text.empty() && first_line(text) != header)
    throw ValueError(fmt::format("{}: {} has the columns \"{}\", this training \"{}\"", kCSVLogger,
                                 filename_, first_line(text), header));
  if (text.empty() || cut) {
    if (text.empty()) text = header + "\n";
    make_folder_of(filename_);
    write_file_atomically(filename_, text);
  }
  bytes_ = int64_t(text.size());
  keep_.reset();
  begun_ = true;
}

void CSVLogger::on_epoch_end(int64_t epoch, const Logs& logs) {
  if (columns_.empty()) {
    columns_ = logs.names();
    // The first epoch may be one that does not validate.
    if (is_passed_over(params(), "val_", logs))
      for (const std::string& name : trainer_of(*this).compiled->evaluation->names())
        columns_.push_back("val_" + name);
    std::ranges::sort(columns_);
  }
  pending_ += fmt::format("{}", epoch);
  for (const std::string& column : columns_)
    pending_ += options_.separator + (logs.has(column) ? fmt::format("{}", logs[column]) : "NA");
  pending_ += "\n";
  write_pending();
}

void CSVLogger::write_pending() {
  write_or_say(*this, kCSVLogger, trouble_, [&] {
    if (torn_ && !local_files().exists(filename_)) begun_ = torn_ = false;  // removed meanwhile
    if (!begun_) begin_file();
    append_pending();
  });
}

// After a write that failed the file is made anew from what is known to be whole.
void CSVLogger::append_pending() {
  if (std::exchange(torn_, true)) {
    std::string text = read_text(filename_);
    text.resize(std::min(text.size(), size_t(bytes_)));
    write_file_atomically(filename_, text + pending_);
  } else {
    local_files().create(filename_, FileSystem::Write::append)->write(as_bytes(pending_));
  }
  torn_ = false;
  bytes_ += int64_t(pending_.size());
  pending_.clear();
}

CallbackState CSVLogger::state() const {
  CallbackState state{.values = {{"bytes", bytes_}}};
  if (!pending_.empty()) state.values.set("pending", pending_);
  return state;
}

void CSVLogger::restore(const CallbackState& state) {
  int64_t bytes = remembered<int64_t>(state, kCSVLogger, "bytes");
  if (bytes < 0)
    throw ValueError(fmt::format("{}: the saved state has {} bytes", kCSVLogger, bytes));
  bytes_ = bytes;
  if (bytes > 0) keep_ = bytes;
  if (state.values.find("pending") != nullptr)
    pending_ = remembered<std::string>(state, kCSVLogger, "pending");
}

}  // namespace stoker
