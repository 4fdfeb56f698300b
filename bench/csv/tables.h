// The tables of bench_csv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace stoker::bench {

struct Table {
  std::string name;
  int64_t rows;
  bool numeric;  // without columns of texts
};

// Writes NAME.csv for each: numbers (ten columns of six decimals and a label), wide (100 of them), narrow
// (two of them), digits (ten columns as a double is written), mixed (numbers, categories and quoted texts).
std::vector<Table> write_tables(const std::filesystem::path& folder);

}  // namespace stoker::bench
