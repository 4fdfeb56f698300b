// A target with a bug, by which the tests see that the driver finds bugs: it fails where the third
// byte of "stoker" is replaced.
#include <string_view>

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  stoker::test::expect(text.size() != 6 || !text.starts_with("st") || text[2] == 'o');
  return 0;
}
