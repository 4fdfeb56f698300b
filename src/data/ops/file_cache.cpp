// cache(path): elements as they were made the first time, in packed shards. The shards are complete
// once every element has been made, in whatever order and in however many iterations; until then
// elements are made again. What is kept is epoch 0, as in cache(). Each record holds, behind the
// components, the number under which its element was made, which keys the randomness of what
// follows.
#include <fmt/format.h>

#include "data/node.h"
#include "data/runtime/plan.h"
#include "data/runtime/worker.h"
#include "data/sources/shards.h"

namespace stoker::data {

namespace {

ElementSpec with_number(ElementSpec spec) {
  spec.push_back({DType::int64, {}});
  return spec;
}

// The shards of one cache, written or complete. Thread-safe.
class CacheFile {
 public:
  CacheFile(std::string path, ElementSpec spec, std::string fingerprint)
      : path_(std::move(path)), spec_(std::move(spec)), fingerprint_(std::move(fingerprint)) {
    if (!shards_exist(path_)) return;
    auto reader = std::make_shared<const ShardReader>(path_);
    if (reader->fingerprint() != fingerprint_ || reader->spec() != with_number(spec_))
      throw FileError(path_ +
                      ": holds the cache of another chain or seed; remove it, or give this cache a "
                      "path of its own");
    reader_.store(std::move(reader));
  }

  size_t components() const { return spec_.size(); }
  std::shared_ptr<const ShardReader> reader() const { return reader_.load(); }

  // Adds an element; with the last of `length` the cache is complete. Known ones are ignored.
  void add(int64_t index, std::span<const ConstTensorView> element, int64_t number,
           int64_t length) {
    std::lock_guard lock(mutex_);
    if (reader_.load()) return;
    if (!writer_) start(length);
    if (written_[size_t(index)]) return;
    write(index, element, number);
    written_[size_t(index)] = true;
    if (count_ == length) finish_locked();
  }
  // For streams, whose length is known at their end: only the walk that began last writes.
  int64_t restart() {
    std::lock_guard lock(mutex_);
    writer_.reset();
    count_ = 0;
    return ++walk_;
  }
  void add_next(int64_t walk, std::span<const ConstTensorView> element, int64_t number) {
    std::lock_guard lock(mutex_);
    if (walk != walk_ || reader_.load()) return;
    if (!writer_) start(-1);
    write(count_, element, number);
  }
  void finish(int64_t walk) {
    std::lock_guard lock(mutex_);
    if (walk == walk_ && !reader_.load() && writer_) finish_locked();
  }

 private:
  void start(int64_t length) {
    writer_ = std::make_unique<ShardWriter>(path_, with_number(spec_),
                                            ShardOptions{.fingerprint = fingerprint_});
    written_.assign(size_t(std::max<int64_t>(length, 0)), false);
    count_ = 0;
  }
  void write(int64_t index, std::span<const ConstTensorView> element, int64_t number) {
    std::vector<ConstTensorView> views(element.begin(), element.end());
    views.emplace_back(DType::int64, Shape{}, &number);
    writer_->write(index, views);
    ++count_;
  }
  void finish_locked() {
    writer_->finish();
    writer_.reset();
    reader_.store(std::make_shared<const ShardReader>(path_));
  }

  std::string path_;
  ElementSpec spec_;
  std::string fingerprint_;
  std::atomic<std::shared_ptr<const ShardReader>> reader_;
  std::mutex mutex_;
  std::unique_ptr<ShardWriter> writer_;
  std::vector<bool> written_;
  int64_t count_ = 0, walk_ = 0;
};

Made give(const CacheFile& file, const ShardReader& reader, const Ticket& ticket,
          ShardRecord& record, ElementWriter& out) {
  write_record(reader, ticket.index, file.components(), record, out);
  return {ticket.epoch, record.view(file.components()).values<int64_t>()[0]};
}

class FileCacheMaker final : public Maker {
 public:
  FileCacheMaker(MakerRef input, std::shared_ptr<CacheFile> file, int64_t length, size_t place)
      : input_(std::move(input)), file_(std::move(file)), length_(length), place_(place) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    if (std::shared_ptr<const ShardReader> reader = file_->reader())
      return give(*file_, *reader, ticket, worker.local<ShardRecord>(place_), out);
    ScratchElement& element = worker.scratch(place_);
    Made made = input_->make({.epoch = 0, .index = ticket.index}, element, worker);
    file_->add(ticket.index, element.views(), made.index, length_);
    for (size_t i = 0; i < element.views().size(); ++i) out.copy(i, element.views()[i]);
    return {ticket.epoch, made.index};
  }
  std::string origin(const Ticket& ticket) const override {
    return file_->reader() ? "" : input_->origin({.epoch = 0, .index = ticket.index});
  }

 private:
  MakerRef input_;
  std::shared_ptr<CacheFile> file_;
  int64_t length_;
  size_t place_;
};

// A stream: what comes from the input is also written; once complete, only the file is read.
class FileCacheTickets final : public Tickets {
 public:
  FileCacheTickets(std::unique_ptr<Tickets> input, std::shared_ptr<CacheFile> file)
      : input_(std::move(input)), file_(std::move(file)) {}

  void begin(int64_t epoch) override {
    epoch_ = epoch;
    index_ = 0;
    reader_ = file_->reader();
    if (reader_) return;
    walk_ = file_->restart();
    complete_ = true;
    input_->begin(0);
  }
  bool next(Ticket& ticket) override {
    if (reader_) {
      if (index_ == reader_->size()) return false;
      ticket = {epoch_, index_++};
      return true;
    }
    if (!input_->next(ticket)) {
      if (complete_) file_->finish(walk_);
      return false;
    }
    complete_ = complete_ && !ticket.held->error;
    std::vector<ConstTensorView> views(ticket.held->element.begin(), ticket.held->element.end());
    if (complete_) file_->add_next(walk_, views, ticket.index);
    ticket.epoch = epoch_;
    return true;
  }

 private:
  std::unique_ptr<Tickets> input_;
  std::shared_ptr<CacheFile> file_;
  std::shared_ptr<const ShardReader> reader_;
  int64_t epoch_ = 0, index_ = 0, walk_ = 0;
  bool complete_ = true;  // an element that could not be made leaves a hole
};

class HeldOrFileMaker final : public Maker {
 public:
  HeldOrFileMaker(std::shared_ptr<CacheFile> file, size_t place)
      : file_(std::move(file)), place_(place) {}
  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    if (ticket.held) return held_maker()->make(ticket, out, worker);
    return give(*file_, *file_->reader(), ticket, worker.local<ShardRecord>(place_), out);
  }

 private:
  std::shared_ptr<CacheFile> file_;
  size_t place_;
};

class FileCacheNode final : public Node {
 public:
  FileCacheNode(const NodeRef& input, std::string path)
      : Node("cache", {input}, input->spec(), input->cardinality(), input->random_access()),
        path_(std::move(path)) {}
  std::string details() const override { return fmt::format("\"{}\"", path_); }

  Planned plan(PlanContext& context) const override {
    if (cardinality().infinite())
      throw ValueError("cache(path): the dataset has no end; put it before repeat()");
    Planned planned = context.plan_input(*this);
    std::shared_ptr<CacheFile> file = file_for(context.key(*this));
    size_t place = context.new_scratch();
    if (planned.length) {
      int64_t length = *planned.length;
      planned.maker = std::make_shared<FileCacheMaker>(std::move(planned.maker), std::move(file),
                                                       length, place);
      return planned;
    }
    planned = context.materialised(std::move(planned), *this);
    planned.maker = std::make_shared<HeldOrFileMaker>(file, place);
    planned.stream = std::make_unique<FileCacheTickets>(std::move(planned.stream), std::move(file));
    return planned;
  }

 private:
  // One for all iterations with the same seed, so that they complete it together.
  std::shared_ptr<CacheFile> file_for(uint64_t key) const {
    std::lock_guard lock(mutex_);
    if (!file_ || key_ != key) {
      file_.reset();
      file_ = std::make_shared<CacheFile>(
          path_, spec(), fmt::format("{:016x}", mixed(fingerprint(*input()), key)));
    }
    key_ = key;
    return file_;
  }

  std::string path_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<CacheFile> file_;
  mutable uint64_t key_ = 0;
};

}  // namespace

Dataset Dataset::cache(const std::string& path) const {
  return Dataset(std::make_shared<FileCacheNode>(node_, path));
}

}  // namespace stoker::data
