#include "common/phases.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace stoker::bench {

Phases::Phases() : trace_(std::make_shared<Trace>(1 << 16)) { active_trace().set(trace_); }

Phases::~Phases() { active_trace().set(nullptr); }

void Phases::print(std::ostream& out) const {
  struct Sum {
    std::string name;
    double seconds = 0;
    int64_t calls = 0;
  };
  std::map<std::string, Sum> by_name;
  for (const SpanRecord& span : trace_->snapshot().spans) {
    Sum& sum = by_name[span.name];
    sum.name = span.name;
    sum.seconds += double(span.end - span.begin) * 1e-9;
    ++sum.calls;
  }
  std::vector<Sum> sums;
  for (const auto& [name, sum] : by_name) sums.push_back(sum);
  std::ranges::sort(sums, std::ranges::greater(), &Sum::seconds);
  for (const Sum& sum : sums)
    out << fmt::format("  {:8.3f} s {:6}x  {}\n", sum.seconds, sum.calls, sum.name);
}

}  // namespace stoker::bench
