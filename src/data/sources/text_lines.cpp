// Lines of text files as elements.
#include <fmt/format.h>
#include <stoker/text.h>

#include "data/sources/files.h"
#include "data/sources/record_files.h"
#include "data/text/checked_text.h"
#include "formats/lines.h"

namespace stoker::data {

namespace {

class TextLineRecords final : public RecordReader {
 public:
  TextLineRecords(FileReader& file, const LineOptions& options) : lines_(file, options) {}
  std::optional<std::string_view> next() override {
    line_ = lines_.number() + 1;
    return lines_.next();
  }
  uint64_t line() const override { return line_; }

 private:
  LineReader lines_;
  uint64_t line_ = 0;
};

RecordFormat line_format(const TextLinesOptions& options) {
  LineOptions lines{.most_line_bytes = uint64_t(options.max_line_bytes)};
  RecordFormat format{
      .kind = "text_lines",
      .read = [lines](FileReader& file) { return std::make_unique<TextLineRecords>(file, lines); },
      .check = [policy = options.invalid_utf8](std::string& line) { check_text(line, policy); }};
  if (options.invalid_utf8 != InvalidUtf8::fail)
    format.details = fmt::format("invalid_utf8 = {}", name_of(options.invalid_utf8));
  if (options.index) {
    format.index = [lines](FileReader& file) { return index_lines(file, lines); };
    format.cut = cut_lines;
  }
  return format;
}

}  // namespace

Dataset text_lines(const std::vector<std::string>& paths, const TextLinesOptions& options,
                   FileSystem& files) {
  if (options.max_line_bytes < 1)
    throw ValueError(fmt::format("text_lines: max_line_bytes is {}, expected at least 1",
                                 options.max_line_bytes));
  return record_files(paths, line_format(options), files);
}

Dataset text_lines(const std::vector<std::string>& paths, const TextLinesOptions& options) {
  return text_lines(paths, options, local_files());
}

Dataset text_lines(std::initializer_list<std::string> paths, const TextLinesOptions& options) {
  return text_lines(std::vector<std::string>(paths), options);
}

Dataset text_lines(const std::string& path, const TextLinesOptions& options) {
  return text_lines(std::vector<std::string>{path}, options);
}

}  // namespace stoker::data
