// Lines of text files as elements: with random access through an index of blocks, or as a stream.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/text.h>

#include "base/utf8.h"
#include "data/identity.h"
#include "data/node.h"
#include "data/runtime/addresses.h"
#include "data/runtime/planning.h"
#include "data/runtime/worker.h"
#include "data/sources/files.h"
#include "data/text/checked_text.h"
#include "formats/gzip.h"
#include "formats/lines.h"

namespace stoker::data {

namespace {

using Paths = std::vector<std::string>;

// The files of a dataset with random access, indexed.
struct IndexedFile {
  std::string path;
  LineIndex index;
  uint64_t first = 0;  // the number of its first line among all files
  std::optional<FileStatus> status = {};
};
using IndexedFiles = std::vector<IndexedFile>;

LineOptions line_options(const TextLinesOptions& options) {
  return {.most_line_bytes = uint64_t(options.max_line_bytes)};
}

// The block that a worker has read last; lines next to each other come from one read.
struct ReadBlock {
  ~ReadBlock() {
    if (budget != nullptr) budget->release(charged);
  }
  ReadBlock() = default;
  ReadBlock(const ReadBlock&) = delete;
  ReadBlock& operator=(const ReadBlock&) = delete;

  bool holds(uint64_t line) const { return line >= first && line - first < lines.size(); }
  void charge(MemoryBudget* with) {
    auto bytes = int64_t(contents.capacity() + lines.capacity() * sizeof(lines[0]));
    if (with == nullptr) return;
    budget = with;
    budget->charge(bytes - charged);
    charged = bytes;
  }

  std::string contents;
  std::vector<std::string_view> lines;
  uint64_t first = 0;
  MemoryBudget* budget = nullptr;
  int64_t charged = 0;
};

class TextLinesMaker final : public Maker {
 public:
  TextLinesMaker(std::shared_ptr<const IndexedFiles> files, InvalidUtf8 invalid, size_t place,
                 FileSystem& system)
      : files_(std::move(files)), invalid_(invalid), place_(place) {
    for (const IndexedFile& file : *files_) {
      readers_.push_back(system.open(file.path));
      if (file.status != system.status(file.path))
        throw FileError(file.path +
                        ": the file has changed since the dataset was written; make it again");
    }
  }

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    auto line = uint64_t(ticket.index);
    try {
      auto& block = worker.local<ReadBlock>(place_);
      if (!block.holds(line)) read(line, block, worker);
      auto& text = *static_cast<std::string*>(out.put(0, DType::bytes, {}));
      text = block.lines[size_t(line - block.first)];
      check_text(text, invalid_);
    } catch (...) {
      rethrow_addressed("text_lines", ticket.epoch, ticket.index, origin(ticket));
    }
    return {ticket.epoch, ticket.index};
  }
  std::string origin(const Ticket& ticket) const override {
    const IndexedFile& file = (*files_)[file_of(uint64_t(ticket.index))];
    return fmt::format("{}, line {}", file.path, uint64_t(ticket.index) - file.first + 1);
  }

 private:
  size_t file_of(uint64_t line) const {
    auto after = std::upper_bound(
        files_->begin(), files_->end(), line,
        [](uint64_t value, const IndexedFile& file) { return value < file.first; });
    return size_t(after - files_->begin()) - 1;
  }
  void read(uint64_t line, ReadBlock& block, Worker& worker) const {
    size_t at = file_of(line);
    const IndexedFile& file = (*files_)[at];
    size_t number = file.index.block_of(line - file.first);
    block.lines.clear();
    file.index.read(*readers_[at], number, block.contents);
    cut_lines(block.contents, block.lines);
    block.first = file.first + file.index.first_line(number);
    block.charge(worker.budget());
    if (!block.holds(line)) throw FileError("the file has changed since the dataset was written");
  }

  std::shared_ptr<const IndexedFiles> files_;
  InvalidUtf8 invalid_;
  size_t place_;
  std::vector<std::unique_ptr<FileReader>> readers_;
};

class TextLineTickets final : public Tickets {
 public:
  TextLineTickets(Paths paths, TextLinesOptions options, FileSystem& files)
      : paths_(std::move(paths)), options_(options), files_(files) {}

  void begin(int64_t epoch) override {
    epoch_ = epoch;
    index_ = 0;
    next_path_ = 0;
    reader_.reset();
  }
  // A line that is not UTF-8 is one bad element, and the next line follows. So is a file that cannot
  // be read on, and the next file follows.
  bool next(Ticket& ticket) override {
    auto held = std::make_shared<Held>();
    try {
      std::optional<std::string_view> line = next_line();
      if (!line) return false;
      Tensor text(DType::bytes, {});
      text.data_mut<std::string>()->assign(*line);
      check_text(*text.data_mut<std::string>(), options_.invalid_utf8);
      held->element = {text};
    } catch (const FileError&) {
      held->error = failure(/*after=*/1);
      reader_.reset();
    } catch (...) {
      held->error = failure(/*after=*/0);
    }
    ticket = {epoch_, index_++, 0, std::move(held)};
    return true;
  }
  void skip(int64_t count) override {
    Ticket passed;
    for (; count > 0 && next(passed); --count) {
    }
  }

 private:
  std::exception_ptr failure(uint64_t after) const {
    uint64_t line = reader_ ? reader_->number() + after : 0;
    const std::string& path = paths_[next_path_ - 1];
    return addressed_error("text_lines", epoch_, index_,
                           line == 0 ? path : fmt::format("{}, line {}", path, line));
  }
  std::optional<std::string_view> next_line() {
    while (true) {
      if (reader_)
        if (auto line = reader_->next()) return line;
      if (next_path_ == paths_.size()) return {};
      reader_.reset();
      file_ = files_.open(paths_[next_path_++]);
      reader_ = std::make_unique<LineReader>(*file_, line_options(options_));
    }
  }

  Paths paths_;
  TextLinesOptions options_;
  FileSystem& files_;
  std::unique_ptr<FileReader> file_;
  std::unique_ptr<LineReader> reader_;
  int64_t epoch_ = 0, index_ = 0;
  size_t next_path_ = 0;
};

class TextLinesNode final : public Node {
 public:
  // `indexed`: null for a stream.
  TextLinesNode(Paths paths, std::shared_ptr<const IndexedFiles> indexed, TextLinesOptions options,
                FileSystem& files)
      : Node("text_lines", {}, {{DType::bytes, {}}}, count(indexed.get()), indexed != nullptr),
        paths_(std::move(paths)),
        indexed_(std::move(indexed)),
        options_(options),
        files_(files) {}

  std::string details() const override {
    std::string text = paths_.size() == 1 ? fmt::format("\"{}\"", paths_[0])
                                          : fmt::format("{} files", paths_.size());
    if (options_.invalid_utf8 != InvalidUtf8::fail)
      text += fmt::format(", invalid_utf8 = {}", name_of(options_.invalid_utf8));
    return text;
  }
  void add_sources(SourceFiles& files) const override {
    for (const std::string& path : paths_) files.add(path, files_);
  }
  Planned plan(PlanContext& context) const override {
    if (indexed_)
      return {.maker = std::make_shared<TextLinesMaker>(indexed_, options_.invalid_utf8,
                                                        context.new_scratch(), files_),
              .length = cardinality().count};
    Planned planned{.maker = held_maker()};
    planned.stream = std::make_unique<TextLineTickets>(paths_, options_, files_);
    planned.replay = title(*this) + " is read from the beginning up to the place";
    return planned;
  }

 private:
  static Cardinality count(const IndexedFiles* files) {
    if (files == nullptr) return {};
    return {int64_t(files->back().first + files->back().index.lines())};
  }

  Paths paths_;
  std::shared_ptr<const IndexedFiles> indexed_;
  TextLinesOptions options_;
  FileSystem& files_;
};

// Null where the files have to be read in order.
std::shared_ptr<const IndexedFiles> indexed(const Paths& paths, const TextLinesOptions& options,
                                            FileSystem& files) {
  if (!options.index) return nullptr;
  auto all = std::make_shared<IndexedFiles>();
  uint64_t first = 0;
  for (const std::string& path : paths) {
    std::unique_ptr<FileReader> file = files.open(path);
    if (is_gzip(*file)) return nullptr;
    all->push_back({path, LineIndex(*file, line_options(options)), first, files.status(path)});
    first += all->back().index.lines();
  }
  return all;
}

}  // namespace

Dataset text_lines(const std::vector<std::string>& paths, const TextLinesOptions& options,
                   FileSystem& files) {
  if (paths.empty()) throw ValueError("text_lines: no files were given");
  if (options.max_line_bytes < 1)
    throw ValueError(fmt::format("text_lines: max_line_bytes is {}, expected at least 1",
                                 options.max_line_bytes));
  return Dataset(
      std::make_shared<TextLinesNode>(paths, indexed(paths, options, files), options, files));
}

Dataset text_lines(const std::vector<std::string>& paths, const TextLinesOptions& options) {
  return text_lines(paths, options, local_files());
}

Dataset text_lines(std::initializer_list<std::string> paths, const TextLinesOptions& options) {
  return text_lines(std::vector<std::string>(paths), options);
}

Dataset text_lines(const std::string& path, const TextLinesOptions& options) {
  return text_lines(std::vector<std::string>{path}, options);
}

}  // namespace stoker::data
