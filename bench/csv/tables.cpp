#include "csv/tables.h"

#include <fstream>

#include <fmt/format.h>
#include <stoker/random.h>

namespace stoker::bench {

namespace {

std::string header(int columns) {
  std::string line;
  for (int column = 0; column < columns; ++column) line += fmt::format("x{},", column);
  return line + "label\n";
}

void write_numbers(const std::filesystem::path& path, int64_t rows, int columns) {
  Rng rng(1);
  std::ofstream file(path);
  file << header(columns);
  for (int64_t row = 0; row < rows; ++row) {
    std::string line;
    for (int column = 0; column < columns; ++column) line += fmt::format("{:.6f},", rng.normal());
    file << line << rng.integer(0, 10) << "\n";
  }
}

// Uniform in [0, 1), in the shortest form that gives the double again: 16 to 18 digits.
void write_digits(const std::filesystem::path& path, int64_t rows, int columns) {
  Rng rng(2);
  std::ofstream file(path);
  file << header(columns);
  for (int64_t row = 0; row < rows; ++row) {
    std::string line;
    for (int column = 0; column < columns; ++column)
      line += fmt::format("{},", double(rng.integer(0, int64_t(1) << 53)) * 0x1p-53);
    file << line << rng.integer(0, 10) << "\n";
  }
}

void write_mixed(const std::filesystem::path& path, int64_t rows) {
  Rng rng(3);
  std::ofstream file(path);
  file << "id,price,city,note,count,label\n";
  for (int64_t row = 0; row < rows; ++row)
    file << fmt::format("{},{:.2f},city{},\"a, {}\",{},{}\n", row, rng.uniform() * 1000,
                        rng.integer(0, 500), row, rng.integer(0, 100'000), rng.integer(0, 10));
}

}  // namespace

std::vector<Table> write_tables(const std::filesystem::path& folder) {
  std::vector<Table> tables{{"numbers", 400'000, true},
                            {"wide", 40'000, true},
                            {"narrow", 1'000'000, true},
                            {"digits", 200'000, true},
                            {"mixed", 400'000, false}};
  write_numbers(folder / "numbers.csv", tables[0].rows, 10);
  write_numbers(folder / "wide.csv", tables[1].rows, 100);
  write_numbers(folder / "narrow.csv", tables[2].rows, 2);
  write_digits(folder / "digits.csv", tables[3].rows, 10);
  write_mixed(folder / "mixed.csv", tables[4].rows);
  return tables;
}

}  // namespace stoker::bench
