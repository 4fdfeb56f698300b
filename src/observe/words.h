// What the doctor says, in sentences.
#pragma once

#include <span>
#include <string>

#include "observe/evidence.h"

namespace stoker {

std::string percent(double share);     // "12 %", "0.4 %"
std::string duration(double seconds);  // "12.3 ms"
// "; 2 ops are above …", for the end of a sentence; empty where no share of a peak is above all of
// it.
std::string above_peak(std::span<const LayerReport> ops);
std::string sentence_of(const Verdict& verdict, const Evidence& evidence);

}  // namespace stoker
