// Lines of an svmlight file: indices ascend, and what is read must come back when it is written again.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/memory_file.h"
#include "formats/csv.h"
#include "formats/svmlight.h"
#include "fuzz/fuzz.h"

namespace {

using namespace stoker;

std::vector<SvmlightEntry> entries_of(SvmlightLine line) {
  std::vector<SvmlightEntry> entries;
  while (auto entry = line.next()) entries.push_back(*entry);
  return entries;
}

void read_line(std::string_view text) {
  std::vector<SvmlightEntry> entries;
  std::string again;
  try {
    SvmlightLine line(text);
    again = fmt::format("{}", line.label());
    if (auto whole = line.whole_label()) again = fmt::format("{}", *whole);
    entries = entries_of(line);
  } catch (const ValueError&) {
    return;
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    test::expect(entries[i].index > (i == 0 ? -1 : entries[i - 1].index));
    again += fmt::format(" {}:{}", entries[i].index, entries[i].value);
  }
  std::vector<SvmlightEntry> back = entries_of(SvmlightLine(again));
  test::expect(back.size() == entries.size());
  for (size_t i = 0; i < back.size(); ++i) {
    bool nan = back[i].value != back[i].value && entries[i].value != entries[i].value;
    test::expect(back[i].index == entries[i].index && (nan || back[i].value == entries[i].value));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  test::Input input(data, size);
  MemoryFile file("input", input.rest());
  try {
    CsvReader lines(file, {.format = {.delimiter = ' ', .quote = '\0', .comment = '#'},
                           .most_record_bytes = 1000});
    for (size_t total = 0; total < 1 << 22;) {  // a compressed file can be long
      auto line = lines.next();
      if (!line) break;
      total += line->size() + 1;
      read_line(*line);
    }
  } catch (const FileError&) {
  }
  return 0;
}
