// Records of one length, as in CIFAR's binary files.
#include <fmt/format.h>
#include <stoker/mixing.h>

#include "data/sources/record_files.h"

namespace stoker::data {

namespace {

struct FixedLayout {
  uint64_t header = 0, record = 0, footer = 0;

  // FileError unless the file holds whole records.
  uint64_t records(FileReader& file) const {
    uint64_t around = header + footer;
    if (file.size() < around || (file.size() - around) % record != 0)
      throw FileError(fmt::format(
          "{}: {} bytes are no whole records of {} bytes after a header of {} and before a footer "
          "of {}",
          file.path(), file.size(), record, header, footer));
    return (file.size() - around) / record;
  }
};

class FixedRecords final : public RecordReader {
 public:
  FixedRecords(FileReader& file, const FixedLayout& layout)
      : file_(file), layout_(layout), left_(layout.records(file)), offset_(layout.header) {}
  std::optional<std::string_view> next() override {
    if (left_ == 0) return {};
    record_.resize(size_t(layout_.record));
    file_.read_exactly(offset_, std::as_writable_bytes(std::span(record_)));
    offset_ += layout_.record;
    --left_;
    return record_;
  }

 private:
  FileReader& file_;
  FixedLayout layout_;
  uint64_t left_, offset_;
  std::string record_;
};

RecordIndex index_fixed(FileReader& file, const FixedLayout& layout) {
  constexpr uint64_t kFixedBlock = 1 << 12;
  RecordIndex index(kFixedBlock);
  uint64_t records = layout.records(file), end = layout.header + records * layout.record;
  for (uint64_t record = 0; record < records; ++record)
    index.add(record, layout.header + record * layout.record, record);
  if (records == 0) index.add(0, end, 0);
  index.finish(records, end);
  return index;
}

}  // namespace

Dataset fixed_length_records(const std::vector<std::string>& paths, int64_t record_bytes,
                             const FixedLengthOptions& options) {
  constexpr int64_t kMost = int64_t(1) << 40;
  auto fits = [](int64_t bytes, int64_t least) { return bytes >= least && bytes <= kMost; };
  if (!fits(record_bytes, 1) || !fits(options.header_bytes, 0) || !fits(options.footer_bytes, 0))
    throw ValueError(
        fmt::format("fixed_length_records: record_bytes is {}, header_bytes {} and footer_bytes "
                    "{}, expected at "
                    "least 1, 0 and 0",
                    record_bytes, options.header_bytes, options.footer_bytes));
  FixedLayout layout{uint64_t(options.header_bytes), uint64_t(record_bytes),
                     uint64_t(options.footer_bytes)};
  RecordFormat format{
      .kind = "fixed_length_records",
      .details =
          fmt::format("{}, {}, {}", record_bytes, options.header_bytes, options.footer_bytes),
      .lines = false,
      .read = [layout](FileReader& file) { return std::make_unique<FixedRecords>(file, layout); },
      .index = [layout](FileReader& file) { return index_fixed(file, layout); },
      .cut =
          [layout](std::string_view block, std::vector<std::string_view>& records) {
            records.clear();
            for (size_t at = 0; at + layout.record <= block.size(); at += size_t(layout.record))
              records.push_back(block.substr(at, size_t(layout.record)));
          }};
  return record_files(paths, std::move(format), local_files());
}

}  // namespace stoker::data
