// cache(path): elements as they were made the first time, in packed shards. The shards are complete
// once every element has been made, in whatever order and in however many iterations; until then
// elements are made again. What is kept is epoch 0, as in cache(). Each record holds, behind the
// components, the number under which its element was made, which keys the randomness of what
// follows. cache_identity.h tells when a cache is out of date, cache_file.h who writes it.
#include <fmt/format.h>

#include "data/node.h"
#include "data/ops/cache_file.h"
#include "data/runtime/planning.h"
#include "data/runtime/worker.h"
#include "data/sources/shards.h"

namespace stoker::data {

namespace {

Made give(const CacheFile& file, const ShardReader& reader, const Ticket& ticket,
          ShardRecord& record, ElementWriter& out) {
  write_record(reader, ticket.index, file.components(), record, out);
  return {ticket.epoch, record.view(file.components()).values<int64_t>()[0]};
}

using CacheRef = std::shared_ptr<CacheFile>;
using NoticesRef = std::shared_ptr<Notices>;

class FileCacheMaker final : public Maker {
 public:
  FileCacheMaker(MakerRef input, CacheRef file, int64_t length, size_t place, NoticesRef notices)
      : input_(std::move(input)),
        file_(std::move(file)),
        length_(length),
        place_(place),
        notices_(std::move(notices)) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    if (auto reader = file_->reader(ticket.epoch, *notices_)) {
      try {
        return give(*file_, *reader, ticket, worker.local<ShardRecord>(place_), out);
      } catch (const FileError& error) {
        file_->drop(reader, error.what(), *notices_);
      }
    }
    ScratchElement& element = worker.scratch(place_);
    Made made = input_->make({.epoch = 0, .index = ticket.index}, element, worker);
    if (!made.kept) return made;
    file_->add(ticket.index, element.views(), made.index, length_, *notices_);
    for (size_t i = 0; i < element.views().size(); ++i) out.copy(i, element.views()[i]);
    return {ticket.epoch, made.index};
  }
  std::string origin(const Ticket& ticket) const override {
    return file_->reader() ? "" : input_->origin({.epoch = 0, .index = ticket.index});
  }

 private:
  MakerRef input_;
  CacheRef file_;
  int64_t length_;
  size_t place_;
  NoticesRef notices_;
};

// A stream: what comes from the input is also written; once complete, only the file is read.
class FileCacheTickets final : public Tickets {
 public:
  FileCacheTickets(std::unique_ptr<Tickets> input, CacheRef file, NoticesRef notices)
      : input_(std::move(input)), file_(std::move(file)), notices_(std::move(notices)) {}

  void begin(int64_t epoch) override {
    epoch_ = epoch;
    index_ = 0;
    reader_ = file_->reader(epoch, *notices_);
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
      if (complete_) file_->finish(walk_, *notices_);
      return false;
    }
    complete_ = complete_ && !ticket.held->error;
    std::vector<ConstTensorView> views(ticket.held->element.begin(), ticket.held->element.end());
    if (complete_) file_->add_next(walk_, views, ticket.index, *notices_);
    ticket.epoch = epoch_;
    return true;
  }

 private:
  std::unique_ptr<Tickets> input_;
  CacheRef file_;
  NoticesRef notices_;
  std::shared_ptr<const ShardReader> reader_;
  int64_t epoch_ = 0, index_ = 0, walk_ = 0;
  bool complete_ = true;  // an element that could not be made leaves a hole
};

class HeldOrFileMaker final : public Maker {
 public:
  HeldOrFileMaker(CacheRef file, size_t place, NoticesRef notices)
      : file_(std::move(file)), place_(place), notices_(std::move(notices)) {}
  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    if (ticket.held) return held_maker()->make(ticket, out, worker);
    auto reader = file_->reader();
    if (!reader)
      throw FileError("cache(path): it was found damaged; walk again, and it is rebuilt");
    try {
      return give(*file_, *reader, ticket, worker.local<ShardRecord>(place_), out);
    } catch (const FileError& error) {
      file_->drop(reader, error.what(), *notices_);
      throw;
    }
  }

 private:
  CacheRef file_;
  size_t place_;
  NoticesRef notices_;
};

class FileCacheNode final : public Node {
 public:
  FileCacheNode(const NodeRef& input, std::string path, CacheOptions options)
      : Node("cache", {input}, input->spec(), input->cardinality(), input->random_access()),
        path_(std::move(path)),
        options_(std::move(options)) {
    if (path_.empty()) throw ValueError("cache(path): the path is empty; cache() keeps in memory");
  }
  std::string details() const override {
    if (options_.version.empty()) return fmt::format("\"{}\"", path_);
    return fmt::format("\"{}\", version = \"{}\"", path_, options_.version);
  }
  std::string identity() const override { return fmt::format("\"{}\"", path_); }
  std::string recipe() const override { return {}; }

  Planned plan(PlanContext& context) const override {
    if (cardinality().infinite())
      throw ValueError("cache(path): the dataset has no end; put it before repeat()");
    Planned planned = context.plan_input_with_gaps(*this);
    CacheRef file = file_for(context);
    size_t place = context.new_scratch();
    if (planned.length) {
      int64_t length = *planned.length;
      planned.maker = std::make_shared<FileCacheMaker>(std::move(planned.maker), std::move(file),
                                                       length, place, context.notices);
      return planned;
    }
    planned = context.materialised(std::move(planned), *this);
    planned.maker = std::make_shared<HeldOrFileMaker>(file, place, context.notices);
    planned.stream = std::make_unique<FileCacheTickets>(std::move(planned.stream), std::move(file),
                                                        context.notices);
    return planned;
  }

 private:
  // One for all iterations of the same elements, so that they complete it together. The sources are
  // looked at once.
  CacheRef file_for(const PlanContext& context) const {
    std::lock_guard lock(mutex_);
    if (!chain_) chain_ = std::make_unique<const ChainIdentity>(identity_of(*input()));
    uint64_t key = chain_->random_step.empty() ? 0 : context.key(*this);
    if (!file_ || key_ != key) {
      file_.reset();
      CacheSeed seed{.seed = context.seed, .key = key, .drawn = context.seed_drawn};
      file_ = std::make_shared<CacheFile>(path_, spec(),
                                          make_cache_identity(*chain_, options_.version, seed));
    }
    key_ = key;
    file_->look(*context.notices);
    return file_;
  }

  std::string path_;
  CacheOptions options_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const ChainIdentity> chain_;
  mutable CacheRef file_;
  mutable uint64_t key_ = 0;
};

}  // namespace

Dataset Dataset::cache(const std::string& path, const CacheOptions& options) const {
  return Dataset(std::make_shared<FileCacheNode>(node_, path, options));
}

}  // namespace stoker::data
