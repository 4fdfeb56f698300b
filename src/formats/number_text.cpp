#include "formats/number_text.h"

#include <cmath>
#include <string_view>

namespace stoker {

const char* parse_any_float(const char* at, const char* end, float& value) {
  if (at + 1 < end && *at == '+' && at[1] != '-') ++at;
  auto [behind, error] = std::from_chars(at, end, value);
  if (error == std::errc()) return behind;
  if (error != std::errc::result_out_of_range) return nullptr;
  // Too small is zero; too large is nothing that float32 holds.
  long double wide = 0;
  bool outside = std::from_chars(at, end, wide).ec != std::errc();
  std::string_view text(at, size_t(behind - at));
  bool tiny =
      outside ? text.find("e-") != text.npos || text.find("E-") != text.npos : std::abs(wide) < 1;
  if (!tiny) return nullptr;
  value = *at == '-' ? -0.0F : 0.0F;
  return behind;
}

}  // namespace stoker
