#include "gpu/checks.h"

#include <ostream>

#include "support/op_checks.h"

namespace stoker::bench {

int check_ops(std::ostream& out, const std::string& only) {
  Backend& gpu = backend("cuda");
  uint64_t seed = test::fresh_seed();
  int cases = 0, failed = 0, ops = 0;
  for (const auto& op : OpRegistry::get().all()) {
    if (op->name.find(only) == std::string::npos) continue;
    ++ops;
    auto found = test::op_cases().find(op->name);
    if (found == test::op_cases().end()) continue;
    for (const test::OpCase& one : found->second.good)
      for (DType dtype : test::dtypes_of(*op, one)) {
        ++cases;
        std::string wrong;
        try {
          wrong = test::compare_with_reference(gpu, op->name, one, dtype, seed);
        } catch (const std::exception& error) {
          wrong = error.what();
        }
        if (wrong.empty()) continue;
        ++failed;
        out << op->name << "/" << one.name << ", " << name(dtype) << ": " << wrong << "\n";
      }
  }
  out << ops << " ops, " << cases << " cases, " << failed << " failed (STOKER_TEST_SEED=" << seed
      << ")\n";
  return failed;
}

}  // namespace stoker::bench
