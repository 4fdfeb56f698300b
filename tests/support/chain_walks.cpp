#include "support/chain_walks.h"

#include <fmt/format.h>

namespace stoker::test {

Records naive_walk(const Step& chain, uint64_t seed, int64_t epochs) {
  Records records;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (Item& item : chain.items(epoch, {seed, 0})) {
      if (!item.error.empty()) {
        records.push_back({Record::Kind::error, {}, item.error});
        return records;
      }
      records.push_back({Record::Kind::element, std::move(item.element), {}});
    }
    records.push_back({Record::Kind::epoch_end, {}, {}});
  }
  return records;
}

Records rest_of(data::Iterator& walk) {
  Records records;
  try {
    while (!walk.finished()) {
      const Batch* element = walk.next();
      if (element != nullptr)
        records.push_back({Record::Kind::element, element_of(*element), {}});
      else
        records.push_back({Record::Kind::epoch_end, {}, {}});
    }
  } catch (const std::exception& error) {
    records.push_back({Record::Kind::error, {}, error.what()});
  }
  return records;
}

Records real_walk(const data::Dataset& dataset, int threads, int64_t epochs,
                  const std::string& state) {
  Context context{.threads = {.pipeline = threads}};
  data::Iterator walk = dataset.iterate({.epochs = epochs, .state = state, .context = &context});
  return rest_of(walk);
}

namespace {

std::string shown(const Records& records, size_t at) {
  if (at >= records.size()) return "nothing";
  const Record& record = records[at];
  if (record.kind == Record::Kind::error) return "error " + record.error;
  return record.kind == Record::Kind::epoch_end ? "end of epoch" : to_string(record.element);
}

}  // namespace

std::string difference(const Records& expected, const Records& got) {
  for (size_t at = 0; at < std::max(expected.size(), got.size()); ++at)
    if (at >= expected.size() || at >= got.size() || !(expected[at] == got[at]))
      return fmt::format("at {}: expected {}, got {}", at, shown(expected, at), shown(got, at));
  return {};
}

}  // namespace stoker::test
