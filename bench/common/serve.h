// A benchmark as one of several programs that take turns (bench/zoo/turns.py): it says that it is
// ready, then reads a number per line and answers with the seconds that so many steps took.
#pragma once

#include <cstdint>
#include <functional>

namespace stoker::bench {

// Until stdin ends; returns 0. `floor`: seconds that a step takes at the machine's limits; 0: not
// known. `steps(n)` makes n steps.
int serve_steps(const std::function<void(int64_t)>& steps, double floor = 0);

}  // namespace stoker::bench
