#include "data/sources/csv_records.h"

namespace stoker::data {

namespace {

class CsvRecords final : public RecordReader {
 public:
  CsvRecords(FileReader& file, const CsvReadOptions& options) : reader_(file, options) {}
  std::optional<std::string_view> next() override { return reader_.next(); }
  uint64_t line() const override { return reader_.line(); }

 private:
  CsvReader reader_;
};

}  // namespace

RecordFormat csv_records(std::string kind, std::string details, const CsvReadOptions& reading,
                         bool index) {
  RecordFormat format{
      .kind = std::move(kind), .details = std::move(details), .read = [reading](FileReader& file) {
        return std::make_unique<CsvRecords>(file, reading);
      }};
  if (index) {
    format.index = [reading](FileReader& file) { return index_csv(file, reading); };
    format.cut = [csv = reading.format](std::string_view block,
                                        std::vector<std::string_view>& records) {
      cut_csv(block, csv, records);
    };
  }
  return format;
}

}  // namespace stoker::data
