// A tokenizer.json, and behind a zero byte a text to encode. What loads has to encode any text and
// decode what it gave.
#include <string>
#include <string_view>

#include <stoker/error.h>
#include <stoker/tokenizer.h>

#include "base/utf8.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stoker;
  std::string_view all(reinterpret_cast<const char*>(data), size);
  std::string_view json = all.substr(0, all.find('\0'));
  std::string text = repaired_utf8(all.substr(all.size() - std::min<size_t>(all.size(), 200)));
  try {
    text::Tokenizer tokenizer = text::Tokenizer::from_json(json);
    text::Encoding single = tokenizer.encode(text), pair = tokenizer.encode(text, "a pair");
    test::expect(single.ids.size() == single.tokens.size() &&
                 pair.ids.size() == pair.type_ids.size() &&
                 pair.ids.size() == pair.special_tokens_mask.size());
    tokenizer.decode(single.ids);
    tokenizer.decode(pair.ids, {.skip_special_tokens = false});
  } catch (const ValueError&) {
  }
  return 0;
}
