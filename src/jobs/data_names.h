// The names in a job's data: of its classes and, in a table, of its columns. A model knows only
// numbers; what they stand for lies beside it, in classes.json and columns.json.
#pragma once

#include <string>
#include <vector>

namespace stoker::jobs {

struct TableColumn {
  std::string name;
  // Of a column of texts: those that occur, sorted. Each is a number of the row, 1 where the text is
  // this one and else 0. None: a column of numbers.
  std::vector<std::string> categories = {};
};

struct DataNames {
  std::vector<std::string> classes = {};  // in the order of their labels; none: the numbers
  std::vector<TableColumn> columns =
      {};  // that a model of rows takes, in its order; none: not known
  std::string class_of(int64_t label) const;  // or the number
};

// Writes the files that have something to say.
void write_names(const std::string& folder, const DataNames& names);
// What is there; FileError for files that are not what write_names() writes.
DataNames read_names(const std::string& folder);

}  // namespace stoker::jobs
