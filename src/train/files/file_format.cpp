#include "train/files/file_format.h"

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

constexpr const char* kUnchecked = "1";  // 0.1: no checksums
constexpr const char* kChecked = "2";

}  // namespace

SafetensorsFile file_of_format(const std::string& format) {
  return {.metadata = {{"format", format}, {"version", kChecked}}, .checksums = true};
}

const std::string& metadata_of(const SafetensorsFile& file, const std::string& key) {
  auto found = file.metadata.find(key);
  if (found == file.metadata.end())
    throw ValueError(fmt::format("\"{}\" is missing from its metadata", key));
  return found->second;
}

void check_format(const SafetensorsFile& file, std::initializer_list<const char*> formats) {
  std::string format = metadata_of(file, "format");
  std::string known;
  bool good = false;
  for (const char* each : formats) {
    good = good || format == each;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : " or ", each);
  }
  if (!good) throw ValueError(fmt::format("its format is \"{}\", expected {}", format, known));
  std::string version = metadata_of(file, "version");
  if (version != kUnchecked && version != kChecked)
    throw ValueError(fmt::format("version {} of its format is not known to this library", version));
  if (version == kChecked && !file.checksums)
    throw ValueError("its checksums are missing: the file is damaged, or another program wrote it");
}

}  // namespace stoker
