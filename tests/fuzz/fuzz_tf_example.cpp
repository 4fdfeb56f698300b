// What was parsed must be readable, and the same after it was written and parsed again.
#include <cstring>
#include <vector>

#include <stoker/error.h>

#include "base/file.h"
#include "formats/tf_example.h"
#include "fuzz/fuzz.h"

namespace {

using namespace stoker;

template <class T>
std::vector<T> values(const ExampleFeature& feature) {
  std::vector<T> out(feature.count);
  feature.read(std::span(out));
  return out;
}

void write_feature(const ExampleFeature& feature, ExampleWriter& writer) {
  switch (feature.kind) {
    case ExampleFeature::Kind::bytes:
      writer.add(feature.name, values<std::string_view>(feature));
      break;
    case ExampleFeature::Kind::floats:
      writer.add(feature.name, values<float>(feature));
      break;
    case ExampleFeature::Kind::integers:
      writer.add(feature.name, values<int64_t>(feature));
      break;
    case ExampleFeature::Kind::none:
      break;
  }
}

std::string written(const Example& example) {
  ExampleWriter writer;
  for (const ExampleFeature& feature : example.features()) write_feature(feature, writer);
  return writer.record();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Example example;
  try {
    example.parse(std::as_bytes(std::span(data, size)), "input");
  } catch (const FileError&) {
    return 0;
  }
  std::string once = written(example);
  Example again;
  again.parse(as_bytes(once), "written");
  test::expect(written(again) == once);
  return 0;
}
