// The inner loops of CSV, compiled once per instruction set (every csv_*.cpp file of this folder), as a
// table of functions. All sets give the same results; a set without a loop of its own takes nothing and
// leaves the work to the plain code of formats/csv.cpp.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

namespace stoker::csv_scan {

enum class NumberKind : uint8_t { none, float32, int64 };

// Where a field goes: row r of a column is at data + r * stride. none: not a number.
struct NumberTarget {
  char* data = nullptr;
  size_t stride = 0;
  NumberKind kind = NumberKind::none;
};

// A record, and how far memory can be read: at least to its end.
struct RecordText {
  const char* begin;
  const char* end;
  const char* readable;
};

struct TakenNumbers {
  size_t fields;     // taken, from the first on
  const char* next;  // behind the delimiter of the last one; behind `end`: it ended the record
};

// Of lines.
struct LineMarks {
  char delimiter = ',';
  char quote = '\0';     // '\0': none
  bool returns = false;  // lines end with "\r\n"; only field_ends asks
};

struct RecordEnds {
  size_t count;
  bool regular;  // false: nothing was found out
};

// Lines have two bytes at least; those of a chunk are written before they are looked at.
constexpr size_t most_ends(size_t bytes) { return bytes / 2 + 66; }

struct FieldEnds {
  size_t count;
  bool regular;  // false: nothing was found out
  bool quotes;   // there are some
  bool doubled;  // and two of them next to each other
};

// Memory for the ends of `fields` fields: those of a chunk are written before they are counted.
constexpr size_t room_for_ends(size_t fields) { return fields + 80; }

// A column of records that lie one after the other in memory and have `columns` ends each.
struct ColumnText {
  const char* text;      // of the first record
  const char* readable;  // memory can be read from there on; at most `text`
  const uint32_t*
      ends;  // of all fields, row by row, behind `text`; in front of them stands 2^32 - 1
  size_t columns;
  size_t rows;
};

struct Kernels {
  // Numbers of up to 15 characters, or 16 digits at the end of a record, as formats/number_text.h reads
  // them: the fields of a record from its begin on, up to the first that is anything else or has no
  // target.
  TakenNumbers (*numbers)(const RecordText& record, char delimiter, const NumberTarget* targets,
                          size_t count, size_t row);
  // The same for the fields of column `column`, integers of up to 15 characters and floats of up to 31, with
  // row 0 of the target for the first. Rows that hold anything else are listed in `others`, which has room for all rows;
  // their targets may be written too. Returns how many are listed.
  size_t (*column_numbers)(const ColumnText& text, size_t column, const NumberTarget& target,
                           uint32_t* others);
  // Where the records of [begin, end) end, at most 2^32 bytes: the places of their "\n" behind `begin`,
  // in order, in memory for most_ends(end - begin). Regular: one line per record, none blank, "\r" only in
  // front of "\n", and quotes only around whole fields.
  RecordEnds (*record_ends)(const char* begin, const char* end, const LineMarks& marks,
                            uint32_t* ends);
  // Where the fields of [begin, end) end, at most 2^32 bytes: the places of delimiters, "\n" and "\r"
  // outside of quotes, in order, in memory for room_for_ends(most). Regular: at most `most` of them, no
  // "\r" outside of quotes unless marks.returns, quotes only where a field begins, ends or doubles
  // them, and closed at the end.
  FieldEnds (*field_ends)(const char* begin, const char* end, const LineMarks& marks,
                          uint32_t* ends, size_t most);
};

// Of one instruction set: see base/isa_table.h.
void fill_table(Kernels& table, isa::generic);
void fill_table(Kernels& table, isa::avx2);
void fill_table(Kernels& table, isa::avx512);

const Kernels& kernels();  // of this host
const Kernels& kernels_of(Isa isa);

}  // namespace stoker::csv_scan
