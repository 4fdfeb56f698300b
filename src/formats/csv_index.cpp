// The index of a CSV file, made in pieces on all cores. Every piece but the first is begun behind the
// first line end in it, which is a guess: it may stand in quotes. Where the piece before it ends shows
// whether the guess was right; a piece that was not is indexed again from there.
#include <algorithm>
#include <limits>
#include <optional>

#include <stoker/error.h>

#include "base/cores.h"
#include "base/thread_pool.h"
#include "formats/csv.h"
#include "formats/gzip.h"

namespace stoker {

namespace {

constexpr uint64_t kCsvBlockBytes = 1 << 12;  // a shuffle reads one for every record
constexpr size_t kPieceBuffer = 1 << 16;      // stays in the second cache, and in malloc's heap
constexpr int64_t kPiecesTogether = 64;       // bounds what waits to be joined

struct PieceOfIndex {
  RecordIndex index{kCsvBlockBytes};
  uint64_t begin = 0, end = 0;  // of its records
  uint64_t records = 0, lines = 0;
};

class CsvIndexer {
 public:
  CsvIndexer(FileReader& file, const CsvReadOptions& options)
      : file_(file), options_(options), piece_bytes_(std::max<uint64_t>(options.piece_bytes, 1)) {
    options_.buffer_bytes = std::min(options_.buffer_bytes, kPieceBuffer);
    pieces_ = std::max<int64_t>(int64_t((file.size() + piece_bytes_ - 1) / piece_bytes_), 1);
  }

  RecordIndex make() {
    int threads = 1;  // of small files there may be many: nothing is asked and started for them
    if (pieces_ > 1) threads = int(std::min<int64_t>(available_cores(), pieces_));
    std::optional<ThreadPool> pool;
    if (threads > 1) pool.emplace(ThreadPool::Options{.threads = threads - 1, .name = "index"});
    for (int64_t first = 0; first < pieces_; first += kPiecesTogether) {
      int64_t count = std::min(kPiecesTogether, pieces_ - first);
      std::vector<std::optional<PieceOfIndex>> pieces(static_cast<size_t>(count));
      auto some = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) pieces[size_t(i)] = guess(first + i);
      };
      if (pool)
        parallel_for(*pool, count, 1, some);
      else
        some(0, count);
      for (int64_t i = 0; i < count; ++i) join(first + i, pieces[size_t(i)]);
    }
    if (records_ == 0) index_.add(0, end_, 0);
    index_.finish(records_, end_);
    return std::move(index_);
  }

 private:
  uint64_t end_of(int64_t number) const {
    return number + 1 == pieces_ ? std::numeric_limits<uint64_t>::max()
                                 : uint64_t(number + 1) * piece_bytes_;
  }

  // None: there are no records in it, or something is wrong, maybe the guess.
  std::optional<PieceOfIndex> guess(int64_t number) const {
    CsvReadOptions options = options_;  // a wrong guess does not read far
    options.most_record_bytes = std::min(options.most_record_bytes, 2 * piece_bytes_);
    try {
      if (number == 0) {
        CsvReader reader(file_, options);
        return indexed(reader, 0, end_of(number));
      }
      CsvReader reader(file_, options, uint64_t(number) * piece_bytes_ - 1, 0);
      if (!reader.pass_line(end_of(number))) return {};
      return indexed(reader, reader.end(), end_of(number));
    } catch (const FileError&) {  // thrown again where it is true
      return {};
    }
  }
  static PieceOfIndex indexed(CsvReader& reader, uint64_t begin, uint64_t until) {
    PieceOfIndex piece{.begin = begin};
    reader.index_until(until, piece.index, piece.records);
    piece.end = reader.end();
    piece.lines = reader.lines();
    return piece;
  }

  void join(int64_t number, const std::optional<PieceOfIndex>& piece) {
    if (end_of(number) <= end_) return;
    if (piece && piece->begin == end_) {
      index_.append(piece->index, records_, lines_);
      records_ += piece->records;
      lines_ += piece->lines;
      end_ = piece->end;
    } else if (number == 0) {
      CsvReader reader(file_, options_);
      index_on(reader, end_of(number));
    } else {
      CsvReader reader(file_, options_, end_, lines_);
      index_on(reader, end_of(number));
    }
  }
  void index_on(CsvReader& reader, uint64_t until) {
    reader.index_until(until, index_, records_);
    lines_ = reader.lines();
    end_ = reader.end();
  }

  FileReader& file_;
  CsvReadOptions options_;
  uint64_t piece_bytes_;
  int64_t pieces_ = 1;
  RecordIndex index_{kCsvBlockBytes};
  uint64_t records_ = 0, lines_ = 0, end_ = 0;  // of what is indexed
};

}  // namespace

RecordIndex index_csv(FileReader& file, const CsvReadOptions& options) {
  if (is_gzip(file))
    throw ValueError(file.path() + " is compressed: its records can only be read in order");
  return CsvIndexer(file, options).make();
}

}  // namespace stoker
