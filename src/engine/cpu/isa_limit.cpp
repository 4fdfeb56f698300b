// Keeps oneDNN off AMX where a virtual machine shows its instructions and not its tiles: oneDNN asks
// CPUID for the tiles' palette, gets none, and its kernels end the process with SIGILL (2.6 and 3.7).
#include <cpuid.h>

#include <cstdlib>

#include "engine/cpu/onednn.h"

namespace stoker::cpu {

namespace {

bool user_has_chosen() {
  return std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr || std::getenv("DNNL_MAX_CPU_ISA") != nullptr;
}

// Has an effect only before oneDNN's first use of the processor's features.
bool limit_once() {
  static const bool limited = [] {
    bool limit = !user_has_chosen() && processor_tiles() == Tiles::unusable;
    return limit && dnnl::set_max_cpu_isa(kWithoutAmx) == dnnl::status::success;
  }();
  return limited;
}

}  // namespace

Tiles processor_tiles() {
  constexpr unsigned kAmxTile = 1U << 24, kFeatures = 7, kPalettes = 0x1d;
  unsigned a = 0, b = 0, c = 0, features = 0;
  if (__get_cpuid_count(kFeatures, 0, &a, &b, &c, &features) == 0 || (features & kAmxTile) == 0)
    return Tiles::none;
  unsigned largest_palette = 0, d = 0;
  bool listed = __get_cpuid_count(kPalettes, 0, &largest_palette, &b, &c, &d) != 0;
  return listed && largest_palette > 0 ? Tiles::usable : Tiles::unusable;
}

unsigned effective_isa() {
  limit_once();
  return unsigned(dnnl::get_effective_cpu_isa());
}

const dnnl::engine& cpu_engine() {
  limit_once();
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

}  // namespace stoker::cpu
