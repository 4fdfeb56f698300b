// Files of lookups and of text vectorisation: a ValueError, or a vocabulary that is written and read
// back the same.
#include <string_view>

#include <stoker/error.h>

#include "data/text/splitter.h"
#include "data/text/text_files.h"
#include "fuzz/fuzz.h"

namespace {

using namespace stoker;
using namespace stoker::text;

template <class Token>
void read_lookup(std::string_view text, const char* kind) {
  try {
    auto loaded = lookup_from_json<Token>(text, kind);
    std::string once = lookup_to_json(kind, options_to_json(loaded.options), *loaded.vocabulary);
    auto again = lookup_from_json<Token>(once, kind);
    test::expect(again.vocabulary->checksum() == loaded.vocabulary->checksum());
    for (const Token& token : loaded.vocabulary->tokens())
      test::expect(loaded.vocabulary->index_of(token) < loaded.vocabulary->size());
    for (int64_t index : {int64_t(-1), int64_t(0), loaded.vocabulary->size()})
      loaded.vocabulary->token_of(index);
  } catch (const ValueError&) {
  }
}

void read_vectorization(std::string_view text) {
  try {
    auto loaded = vectorization_from_json(text);
    SplitScratch scratch;
    Splitter splitter(loaded.options);
    for (std::string_view token : splitter.tokens(text.substr(0, 100), scratch))
      test::expect(loaded.vocabulary->index_of(token) < loaded.vocabulary->size());
  } catch (const ValueError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  read_lookup<std::string>(text, "StringLookup");
  read_lookup<int64_t>(text, "IntegerLookup");
  read_vectorization(text);
  return 0;
}
