// The rows of a benchmark: what was measured, what it should be, and what others reach. Printed as
// one table and written as JSON, so that two runs can be compared.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace stoker::bench {

enum class Better { higher, lower };

// The same work done by somebody else in the same run.
struct Peer {
  std::string name;
  double value;
  std::string unit;
};

struct Row {
  std::string name;
  double value = 0;
  std::string unit;
  Better better = Better::higher;
  std::optional<double> bar = {};    // what the design asks for
  std::optional<double> limit = {};  // what the machine allows, in the row's unit
  std::vector<Peer> peers = {};
  std::string note = {};  // median and spread of what the value was made of

  bool met() const { return !bar || (better == Better::higher ? value >= *bar : value <= *bar); }
};

class Report {
 public:
  void add(Row row) { rows_.push_back(std::move(row)); }
  const std::vector<Row>& rows() const { return rows_; }
  bool all_met() const;

  void print(std::ostream& out) const;
  // An array of {"name", "value", "unit", "better", "bar", "met", "limit", "peers", "note"}. All of
  // it or nothing: who writes after every row leaves a whole file when cut. Throws FileError.
  void write_json(const std::string& path) const;

 private:
  std::vector<Row> rows_;
};

}  // namespace stoker::bench
