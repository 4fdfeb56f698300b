#include "data/sources/shards.h"

#include <fmt/format.h>

#include "data/identity.h"
#include "data/node.h"
#include "data/runtime/addresses.h"
#include "data/runtime/positions.h"
#include "data/runtime/worker.h"
#include "formats/shard_manifest.h"

namespace stoker::data {

void write_record(const ShardReader& reader, int64_t index, size_t count, ShardRecord& record,
                  ElementWriter& out) {
  reader.read(index, record);
  for (size_t i = 0; i < count; ++i) {
    if (record.spec(i).dtype != DType::bytes) {
      out.copy(i, record.view(i));
      continue;
    }
    auto* place = static_cast<std::string*>(out.put(i, DType::bytes, record.spec(i).shape));
    for (std::string_view text : record.strings(i)) *place++ = text;
  }
}

namespace {

class ShardMaker final : public Maker {
 public:
  ShardMaker(std::shared_ptr<const ShardReader> reader, std::string path, size_t place)
      : reader_(std::move(reader)), path_(std::move(path)), place_(place) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    try {
      write_record(*reader_, ticket.index, reader_->spec().size(),
                   worker.local<ShardRecord>(place_), out);
    } catch (...) {
      rethrow_addressed("load", ticket.epoch, ticket.index, path_);
    }
    return {ticket.epoch, ticket.index};
  }
  std::string origin(const Ticket&) const override { return path_; }

 private:
  std::shared_ptr<const ShardReader> reader_;
  std::string path_;
  size_t place_;
};

class ShardNode final : public Node {
 public:
  ShardNode(std::string path, std::shared_ptr<const ShardReader> reader)
      : Node("load", {}, reader->spec(), {reader->size()}, true),
        path_(std::move(path)),
        reader_(std::move(reader)) {}
  std::string details() const override {
    return fmt::format("\"{}\", {} elements", path_, reader_->size());
  }
  void add_sources(SourceFiles& files) const override {
    for (const DirectoryEntry& entry : local_files().list(path_))
      if (entry.name.ends_with(".shard") || entry.name == kManifestName)
        files.add(path_ + "/" + entry.name);
  }
  Planned plan(PlanContext& context) const override {
    Planned planned{.maker = std::make_shared<ShardMaker>(reader_, path_, context.new_scratch()),
                    .length = reader_->size()};
    if (!context.shares_files(*this, reader_->size())) return planned;
    // Neighbours stand in one file: each rank reads a stretch of them.
    const BatchSlice slice = *context.slice;
    int64_t first = slice.begin(reader_->size()), end = slice.end(reader_->size());
    return placed(std::move(planned), end - first,
                  [first](int64_t&, int64_t& index) { index += first; });
  }

 private:
  std::string path_;
  std::shared_ptr<const ShardReader> reader_;
};

}  // namespace

Dataset load(const std::string& path, const LoadOptions& options) {
  auto reader = std::make_shared<ShardReader>(path, ShardReadOptions{.map = options.map});
  return Dataset(std::make_shared<ShardNode>(path, std::move(reader)));
}

int64_t Dataset::save(const std::string& path) const {
  if (cardinality().infinite())
    throw ValueError("save: the dataset has no end; take() says how much of it");
  ShardWriter writer(path, spec());
  Iterator walk = iterate();
  int64_t count = 0;
  std::vector<ConstTensorView> views;
  while (const Batch* element = walk.next()) {
    views.assign(element->begin(), element->end());
    writer.write(count++, views);
  }
  writer.finish();
  return count;
}

}  // namespace stoker::data
