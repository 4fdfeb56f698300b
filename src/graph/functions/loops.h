// What loops are made of beside ops::scan.
#pragma once

#include <stoker/ops.h>

namespace stoker::ops {

// ops::scan with steps that may be left out: carry number `gate` is a bool []; once it is false, a
// step must change no carry and give zeros. -1: every step runs.
ScanResult scan_with_gate(const ScanFunction& step, const Values& carry, const Values& sequences,
                          const Scan& options, int64_t gate);

}  // namespace stoker::ops
