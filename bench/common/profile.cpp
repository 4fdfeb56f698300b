#include "common/profile.h"

#include <ostream>

#include <fmt/format.h>

#include "common/timing.h"

namespace stoker::bench {

void print_profile(Program& program, const std::vector<Tensor>& batch, int steps,
                   std::ostream& out) {
  const std::vector<KernelInfo>& kernels = program.kernels();
  std::vector<Samples> samples(kernels.size());
  std::vector<int64_t> nanoseconds;
  for (int i = 0; i < steps + 3; ++i) {
    program.run_timed(batch, nanoseconds);
    for (size_t k = 0; i >= 3 && k < kernels.size(); ++k)
      samples[k].add(double(nanoseconds[k]) * 1e-9);
  }
  double median = 0, best = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    double time = samples[k].quantile(0);
    median += samples[k].median();
    best += time;
    out << fmt::format(
        "  {:<34} {:<22} {:9.1f} us median {:9.1f} us best {:7.1f} GFLOP/s {:6.1f} GB/s\n",
        kernels[k].op, kernels[k].kernel, samples[k].median() * 1e6, time * 1e6,
        kernels[k].cost.flops / time * 1e-9, kernels[k].cost.bytes / time * 1e-9);
  }
  out << fmt::format("  {:<57} {:9.1f} us        {:9.1f} us\n", "sum", median * 1e6, best * 1e6);
}

}  // namespace stoker::bench
