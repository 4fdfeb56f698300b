// Whole tables in memory: parts of the records are decoded at the same time, each value straight into
// its column.
#include <algorithm>
#include <atomic>

#include <fmt/format.h>
#include <stoker/csv.h>

#include "base/cores.h"
#include "base/thread_pool.h"
#include "data/csv/schema.h"
#include "data/runtime/records.h"
#include "data/sources/files.h"
#include "formats/gzip.h"

namespace stoker::data {

namespace {

class ColumnWriter final : public ElementWriter {
 public:
  explicit ColumnWriter(std::vector<Tensor>& columns) {
    for (Tensor& column : columns)
      places_.push_back({static_cast<std::byte*>(column.raw_mut()), size_of(column.dtype())});
  }
  void begin(uint64_t row) { row_ = row; }
  void* put(size_t index, DType, const Shape&) override {
    return places_[index].data + row_ * places_[index].bytes;
  }
  void copy(size_t index, const ConstTensorView& value) override {
    copy_values(value, {value.dtype, value.shape, put(index, value.dtype, value.shape)});
  }

 private:
  struct Place {
    std::byte* data;
    size_t bytes;
  };
  std::vector<Place> places_;
  uint64_t row_ = 0;
};

struct IndexedTable {
  std::vector<std::unique_ptr<FileReader>> files;
  std::vector<RecordIndex> indices;
  uint64_t rows = 0;
};

// Blocks begin … end of a file, whose first row is `first` of the table.
struct TablePart {
  size_t file, begin, end;
  uint64_t first;
};

std::vector<TablePart> parts_of(const IndexedTable& table) {
  constexpr size_t kBlocks = 64;  // 256 KiB of records
  std::vector<TablePart> parts;
  uint64_t first = 0;
  for (size_t file = 0; file < table.indices.size(); ++file) {
    const RecordIndex& index = table.indices[file];
    for (size_t begin = 0; begin < index.blocks(); begin += kBlocks)
      parts.push_back({file, begin, std::min(begin + kBlocks, index.blocks()), first});
    first += index.records();
  }
  return parts;
}

// What one thread decodes parts with.
struct PartMemory {
  std::string contents;
  std::vector<std::string_view> records;
};

// False: a row cannot be used.
bool decode(const TablePart& part, const IndexedTable& table, const CsvFormat& format,
            const RecordFunction& decoder, ColumnWriter& out, PartMemory& memory) {
  const RecordIndex& index = table.indices[part.file];
  index.read(*table.files[part.file], part.begin, part.end, memory.contents);
  cut_csv(memory.contents, format, memory.records);
  out.begin(part.first + index.first_record(part.begin));
  return memory.records.empty() ||
         decoder.apply_records(memory.records, out) == int64_t(memory.records.size());
}

// Every part on one of the threads. False: a row cannot be used, or not be read.
bool decode_all(const IndexedTable& table, const CsvFormat& format, const RecordFunction& decoder,
                ThreadPool& pool, std::vector<Tensor>& columns) {
  std::vector<TablePart> parts = parts_of(table);
  std::atomic<size_t> next = 0;
  std::atomic<bool> done = true;
  parallel_for(pool, pool.size() + 1, 1, [&](int64_t, int64_t) {
    ColumnWriter out(columns);
    PartMemory memory;
    try {
      for (size_t part = next++; part < parts.size() && done; part = next++)
        if (!decode(parts[part], table, format, decoder, out, memory)) done = false;
    } catch (const Error&) {
      done = false;
    }
  });
  return done;
}

// Texts are empty strings, which take as long to make as to fill: columns of them at the same time.
std::vector<Tensor> make_columns(const CsvSchema& schema, uint64_t rows, ThreadPool& pool) {
  std::vector<Tensor> columns(schema.components.size());
  parallel_for(pool, int64_t(columns.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = size_t(begin); i < size_t(end); ++i)
      columns[i] = Tensor(schema.fields[schema.components[i]].dtype, Shape{int64_t(rows)});
  });
  return columns;
}

// Through a dataset: streams, and rows that cannot be used, whose errors then have an address.
void walk_rows(const std::vector<std::string>& paths, const CsvOptions& options,
               std::vector<Tensor>& columns) {
  constexpr int64_t kAll = int64_t(1) << 40;
  for (const Batch& batch : csv(paths, options).batch(kAll)) columns = batch.tensors();
}

}  // namespace

TensorMap load_csv(const std::string& path, const CsvOptions& options) {
  std::vector<std::string> paths = matching_files("csv", {path}, local_files());
  CsvOptions whole = options;
  whole.pack = false;
  CsvSchema schema = read_schema(paths, whole, local_files());
  IndexedTable table;
  bool indexed = whole.index;
  for (const std::string& file : paths) {
    table.files.push_back(local_files().open(file));
    indexed = indexed && !is_gzip(*table.files.back());
  }
  for (size_t i = 0; indexed && i < paths.size(); ++i) {
    table.indices.push_back(index_csv(*table.files[i], csv_reading(whole)));
    table.rows += table.indices.back().records();
  }
  ThreadPool pool({.threads = std::max(available_cores() - 1, 1), .name = "load_csv"});
  std::vector<Tensor> columns = make_columns(schema, table.rows, pool);
  FunctionRef decoder = csv_decoder(schema, whole);
  bool done = indexed && decode_all(table, csv_format(whole),
                                    dynamic_cast<const RecordFunction&>(*decoder), pool, columns);
  if (!done) walk_rows(paths, whole, columns);
  TensorMap named;
  for (size_t i = 0; i < columns.size(); ++i)
    named[schema.fields[schema.components[i]].name] = columns[i];
  return named;
}

}  // namespace stoker::data
