#include "data/sources/record_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/identity.h"
#include "data/node.h"
#include "data/runtime/addresses.h"
#include "data/runtime/planning.h"
#include "data/runtime/worker.h"
#include "formats/gzip.h"

namespace stoker::data {

namespace {

using RecordPaths = std::vector<std::string>;
using FormatRef = std::shared_ptr<const RecordFormat>;

std::string place_of(const std::string& path, uint64_t line) {
  return line == 0 ? path : fmt::format("{}, line {}", path, line);
}

// The files of a dataset with random access, indexed.
struct IndexedFile {
  std::string path;
  RecordIndex index;
  uint64_t first = 0;  // the number of its first record among all files
  std::optional<FileStatus> status = {};
};
using IndexedFiles = std::vector<IndexedFile>;

constexpr uint64_t kRunBytes = 1 << 16;  // read at once for a run of records

// The blocks that a worker has read last; records next to each other come from one read.
struct ReadBlock {
  ~ReadBlock() {
    if (budget != nullptr) budget->release(charged);
  }
  ReadBlock() = default;
  ReadBlock(const ReadBlock&) = delete;
  ReadBlock& operator=(const ReadBlock&) = delete;

  bool holds(uint64_t record) const { return record >= first && record - first < records.size(); }
  void charge(MemoryBudget* with) {
    auto bytes = int64_t(contents.capacity() + records.capacity() * sizeof(records[0]));
    if (with == nullptr) return;
    budget = with;
    budget->charge(bytes - charged);
    charged = bytes;
  }

  std::string contents;
  std::vector<std::string_view> records;
  uint64_t first = 0;
  uint64_t line = 0;  // of its first byte, from 0
  MemoryBudget* budget = nullptr;
  int64_t charged = 0;
};

class IndexedMaker final : public Maker {
 public:
  IndexedMaker(std::shared_ptr<const IndexedFiles> files, FormatRef format, size_t place,
               FileSystem& system)
      : files_(std::move(files)), format_(std::move(format)), place_(place) {
    for (const IndexedFile& file : *files_) {
      readers_.push_back(system.open(file.path));
      if (file.status != system.status(file.path))
        throw FileError(file.path +
                        ": the file has changed since the dataset was written; make it again");
    }
  }

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    auto record = uint64_t(ticket.index);
    try {
      const ReadBlock& block = block_with(record, 1, worker);
      auto& text = *static_cast<std::string*>(out.put(0, DType::bytes, {}));
      text = block.records[size_t(record - block.first)];
      if (format_->check) format_->check(text);
    } catch (...) {
      rethrow_addressed(format_->kind, ticket.epoch, ticket.index, origin(ticket));
    }
    return {ticket.epoch, ticket.index};
  }

  Records records(const Ticket& first, int64_t count, Worker& worker) const override {
    auto record = uint64_t(first.index);
    if (format_->check) return {};
    const ReadBlock& block = block_with(record, uint64_t(count), worker);
    Records here = Records(block.records).subspan(size_t(record - block.first));
    return here.first(std::min(here.size(), size_t(count)));
  }

  // Reads the block once more to count the lines in it.
  std::string origin(const Ticket& ticket) const override {
    auto record = uint64_t(ticket.index);
    const std::string& path = (*files_)[file_of(record)].path;
    if (!format_->lines) return path;
    try {
      ReadBlock block;
      read(record, 1, block);
      const char* begin = block.records[size_t(record - block.first)].data();
      auto before = std::count(static_cast<const char*>(block.contents.data()), begin, '\n');
      return place_of(path, block.line + uint64_t(before) + 1);
    } catch (const FileError&) {
      return path;
    }
  }

 private:
  size_t file_of(uint64_t record) const {
    auto after = std::upper_bound(
        files_->begin(), files_->end(), record,
        [](uint64_t value, const IndexedFile& file) { return value < file.first; });
    return size_t(after - files_->begin()) - 1;
  }
  const ReadBlock& block_with(uint64_t record, uint64_t count, Worker& worker) const {
    auto& block = worker.local<ReadBlock>(place_);
    if (block.holds(record)) return block;
    read(record, count, block);
    block.charge(worker.budget());
    return block;
  }
  // The block of a record, and those of the next records of its file.
  void read(uint64_t record, uint64_t count, ReadBlock& block) const {
    size_t at = file_of(record);
    const IndexedFile& file = (*files_)[at];
    size_t number = file.index.block_of(record - file.first);
    size_t end = file.index.end_of_run(number, record - file.first, count, kRunBytes);
    block.records.clear();
    file.index.read(*readers_[at], number, end, block.contents);
    format_->cut(block.contents, block.records);
    block.first = file.first + file.index.first_record(number);
    block.line = file.index.first_line(number);
    if (!block.holds(record)) throw FileError("the file has changed since the dataset was written");
  }

  std::shared_ptr<const IndexedFiles> files_;
  FormatRef format_;
  size_t place_;
  std::vector<std::unique_ptr<FileReader>> readers_;
};

// Its tickets hold a record each; their choice is the file and, in the lower bits, the line.
constexpr int kLineBits = 40;

class RecordTickets final : public Tickets {
 public:
  RecordTickets(RecordPaths paths, FormatRef format, FileSystem& files)
      : paths_(std::move(paths)), format_(std::move(format)), files_(files) {}

  void begin(int64_t epoch) override {
    epoch_ = epoch;
    index_ = 0;
    next_path_ = 0;
    reader_.reset();
  }
  // A record that is damaged is one bad element, and the next record follows. So is a file that
  // cannot be read on, and the next file follows.
  bool next(Ticket& ticket) override {
    auto held = std::make_shared<Held>();
    bool read = false;
    try {
      std::optional<std::string_view> record = next_record();
      if (!record) return false;
      read = true;
      Tensor bytes(DType::bytes, {});
      bytes.data_mut<std::string>()->assign(*record);
      if (format_->check) format_->check(*bytes.data_mut<std::string>());
      held->element = {bytes};
    } catch (...) {
      held->error =
          addressed_error(format_->kind, epoch_, index_, place_of(paths_[next_path_ - 1], line()));
      if (!read && reader_ && !reader_->can_go_on()) reader_.reset();
    }
    auto choice = int64_t(next_path_ - 1) << kLineBits | int64_t(line());
    ticket = {epoch_, index_++, choice, std::move(held)};
    return true;
  }

 private:
  uint64_t line() const { return reader_ ? reader_->line() : 0; }
  std::optional<std::string_view> next_record() {
    while (true) {
      if (reader_)
        if (auto record = reader_->next()) return record;
      if (next_path_ == paths_.size()) return {};
      reader_.reset();
      file_ = files_.open(paths_[next_path_++]);
      reader_ = format_->read(*file_);
    }
  }

  RecordPaths paths_;
  FormatRef format_;
  FileSystem& files_;
  std::unique_ptr<FileReader> file_;
  std::unique_ptr<RecordReader> reader_;
  int64_t epoch_ = 0, index_ = 0;
  size_t next_path_ = 0;
};

class RecordMaker final : public Maker {
 public:
  explicit RecordMaker(RecordPaths paths) : paths_(std::move(paths)) {}
  Made make(const Ticket& ticket, ElementWriter& out, Worker&) const override {
    out.copy(0, ticket.held->value()[0]);
    return {ticket.epoch, ticket.index};
  }
  std::string origin(const Ticket& ticket) const override {
    constexpr int64_t kLines = (int64_t(1) << kLineBits) - 1;
    return place_of(paths_[size_t(ticket.choice >> kLineBits)], uint64_t(ticket.choice & kLines));
  }

 private:
  RecordPaths paths_;
};

class RecordFilesNode final : public Node {
 public:
  // `indexed`: null for a stream.
  RecordFilesNode(RecordPaths paths, std::shared_ptr<const IndexedFiles> indexed, FormatRef format,
                  FileSystem& files)
      : Node(format->kind, {}, {{DType::bytes, {}}}, count(indexed.get()), indexed != nullptr),
        paths_(std::move(paths)),
        indexed_(std::move(indexed)),
        format_(std::move(format)),
        files_(files) {}

  std::string details() const override {
    std::string text = paths_.size() == 1 ? fmt::format("\"{}\"", paths_[0])
                                          : fmt::format("{} files", paths_.size());
    return format_->details.empty() ? text : text + ", " + format_->details;
  }
  void add_sources(SourceFiles& files) const override {
    for (const std::string& path : paths_) files.add(path, files_);
  }
  Planned plan(PlanContext& context) const override {
    bool shared = context.shares_files(*this, int64_t(paths_.size()));
    if (indexed_) {
      auto indexed = shared ? indexed_of(*context.slice) : indexed_;
      return {
          .maker = std::make_shared<IndexedMaker>(indexed, format_, context.new_scratch(), files_),
          .length = count(indexed.get()).count};
    }
    context.runs_all = true;
    RecordPaths paths = shared ? paths_of(*context.slice) : paths_;
    Planned planned{.maker = std::make_shared<RecordMaker>(paths)};
    planned.stream = std::make_unique<RecordTickets>(std::move(paths), format_, files_);
    planned.replay = title(*this) + " is read from the beginning up to the place";
    return planned;
  }

 private:
  static Cardinality count(const IndexedFiles* files) {
    if (files == nullptr) return {};
    return {int64_t(files->back().first + files->back().index.records())};
  }
  // Every n-th file, for a rank of n.
  RecordPaths paths_of(const BatchSlice& slice) const {
    RecordPaths own;
    for (auto at = size_t(slice.rank); at < paths_.size(); at += size_t(slice.size))
      own.push_back(paths_[at]);
    return own;
  }
  std::shared_ptr<const IndexedFiles> indexed_of(const BatchSlice& slice) const {
    auto own = std::make_shared<IndexedFiles>();
    uint64_t first = 0;
    for (auto at = size_t(slice.rank); at < indexed_->size(); at += size_t(slice.size)) {
      own->push_back((*indexed_)[at]);
      own->back().first = first;
      first += own->back().index.records();
    }
    return own;
  }

  RecordPaths paths_;
  std::shared_ptr<const IndexedFiles> indexed_;
  FormatRef format_;
  FileSystem& files_;
};

// Null where the files have to be read in order.
std::shared_ptr<const IndexedFiles> indexed(const RecordPaths& paths, const RecordFormat& format,
                                            FileSystem& files) {
  if (!format.index) return nullptr;
  auto all = std::make_shared<IndexedFiles>();
  uint64_t first = 0;
  for (const std::string& path : paths) {
    std::unique_ptr<FileReader> file = files.open(path);
    if (is_gzip(*file)) return nullptr;
    all->push_back({path, format.index(*file), first, files.status(path)});
    first += all->back().index.records();
  }
  return all;
}

}  // namespace

Dataset record_files(std::vector<std::string> paths, RecordFormat format, FileSystem& files) {
  if (paths.empty()) throw ValueError(format.kind + ": no files were given");
  auto shared = std::make_shared<const RecordFormat>(std::move(format));
  auto index = indexed(paths, *shared, files);
  return Dataset(std::make_shared<RecordFilesNode>(std::move(paths), std::move(index),
                                                   std::move(shared), files));
}

}  // namespace stoker::data
