// What the doctor says, in sentences.
#pragma once

#include <string>

#include "observe/evidence.h"

namespace stoker {

std::string percent(double share);     // "12 %", "0.4 %"
std::string duration(double seconds);  // "12.3 ms"
std::string sentence_of(const Verdict& verdict, const Evidence& evidence);

}  // namespace stoker
