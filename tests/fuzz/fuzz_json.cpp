// What was parsed can be written, and is the same when it is parsed again.
#include <string_view>

#include <stoker/error.h>

#include "formats/json.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stoker;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (JsonComments comments : {JsonComments::refuse, JsonComments::allow}) {
    try {
      nlohmann::json parsed = parse_json(text, comments), copy = parsed;
      std::string once = dump_json(parsed);
      test::expect(dump_json(parse_json(once)) == once && copy == parsed);
    } catch (const ValueError&) {
    }
  }
  return 0;
}
