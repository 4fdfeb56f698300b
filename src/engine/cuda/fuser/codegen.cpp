#include "engine/cuda/fuser/codegen.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "engine/cuda/fuser/kernel_text.h"
#include "engine/cuda/fuser/prelude_file.h"
#include "engine/cuda/fuser/printer.h"

namespace stoker::fuser {

namespace {

constexpr int kThreads = GeneratedKernel::kThreads;

// Operands this many times smaller than the iteration space stay in a cache: how they are loaded
// matters little.
constexpr int64_t kSmall = 16;

}  // namespace

bool is_large(const Region& region, const Scalar& load) {
  return load.place.bound() * kSmall >= region.kept * region.gone;
}

// As many as sixteen bytes of the widest large operand hold, and as allow vectors of all of those.
// (From bfloat16 to float32, eight lanes reach 60 % of the bandwidth and four 88.)
int lanes_for(const Region& region, Counter counter) {
  size_t wide = region.reduction == Reduction::none ? size_of(region.store.dtype) : 2;
  for (const Scalar& scalar : region.scalars)
    if (scalar.operation == Operation::load && is_large(region, scalar))
      wide = std::max(wide, size_of(scalar.dtype));
  for (int lanes = std::min(int(16 / wide), 8); lanes > 1; lanes /= 2) {
    // Of columns nothing may be left over.
    bool columns = region.reduction != Reduction::none && counter == Counter::kept;
    if (columns && region.kept % lanes != 0) continue;
    bool fits = std::ranges::all_of(region.scalars, [&](const Scalar& scalar) {
      return scalar.operation != Operation::load || !is_large(region, scalar) ||
             access_of(scalar, counter, lanes) != Access::each;
    });
    if (fits) return lanes;
  }
  return 1;
}

int unroll_for(const Region& region, const std::vector<int>& scalars, int lanes, int bytes) {
  constexpr int kMost = 8;
  int each = 0;
  for (int index : scalars)
    if (const Scalar& scalar = region.scalars[size_t(index)];
        scalar.operation == Operation::load && is_large(region, scalar))
      each += lanes * int(size_of(scalar.dtype));
  int unroll = 1;
  while (unroll * 2 <= kMost && unroll * 2 * each <= bytes) unroll *= 2;
  return unroll;
}

std::string signature(const Region& region, bool partials) {
  // Reductions have many loads in flight: registers for four blocks a processor.
  const char* bounds = region.reduction == Reduction::none ? "256" : "256, 4";
  std::string text =
      fmt::format("extern \"C\" __global__ void __launch_bounds__({}) KERNEL(", bounds);
  for (size_t i = 0; i < region.operands.size(); ++i)
    text += fmt::format("const {}* p{}, ", element_type(region.operands[i].dtype), i);
  text += fmt::format("{}* out", element_type(region.store.dtype));
  if (partials) text += ", Acc* partials, unsigned* counters";
  return text + ") {\n";
}

std::string heading(const Region& region) {
  int64_t most = region.kept * region.gone;
  for (const Scalar& scalar : region.scalars) most = std::max(most, scalar.place.bound());
  bool wide = most >= (int64_t(1) << 31);
  std::string text = fmt::format("#define Int {}\n", wide ? "unsigned long long" : "unsigned");
  if (region.reduction != Reduction::none)
    text += fmt::format(
        "#define Acc {}\n",
        is_floating(region.scalars[size_t(region.reduces)].dtype) ? "float" : "long long");
  return text;
}

// Computes what is stored of `lanes` elements from `k` on, and stores it.
std::string store_lanes(const Region& region, const std::vector<int>& scalars, int lanes) {
  Printer printer(region, scalars, Counter::kept, lanes, 1);
  std::string type(element_type(region.store.dtype));
  std::string text =
      fmt::format("  {{ constexpr int u = 0;\n{}{}", printer.declarations(), printer.loads());
  text += fmt::format("    Pack<{}, {}> result;\n", type, lanes);
  text += printer.for_each_lane(
      fmt::format("      result.at[lane] = Convert<{}>::from(s{});\n", type, region.store.scalar));
  return text +
         fmt::format("    *reinterpret_cast<Pack<{}, {}>*>(out + k) = result; }}\n", type, lanes);
}

GeneratedKernel named(std::string source) {
  uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (char c : source) hash = (hash ^ uint8_t(c)) * 1099511628211ULL;
  GeneratedKernel kernel;
  kernel.name = fmt::format("fused_{:016x}", hash);
  size_t at = source.find("KERNEL(");
  kernel.source = source.replace(at, 6, kernel.name) + "#undef Int\n";
  return kernel;
}

namespace {

GeneratedKernel generate_map(const Region& region) {
  std::vector<int> scalars = needed(region, region.store.scalar, false);
  int lanes = lanes_for(region, Counter::kept);
  constexpr int kBytesInFlight = 32;  // more cost registers and gain nothing
  int unroll = unroll_for(region, scalars, lanes, kBytesInFlight);
  Printer printer(region, scalars, Counter::kept, lanes, unroll);
  std::string type(element_type(region.store.dtype));
  int64_t whole = region.kept / lanes * lanes, step = int64_t(kThreads) * lanes;
  std::string text = heading(region) + signature(region, false);
  text += fmt::format("  const Int first = (Int(blockIdx.x) * {} + threadIdx.x) * {};\n",
                      kThreads * unroll, lanes);
  text += printer.declarations();
  std::string each = fmt::format(
      "#pragma unroll\n  for (int u = 0; u < {}; ++u) {{\n    const Int k = first + u * {};\n"
      "    if (k >= Int({})) continue;\n",
      unroll, step, whole);
  text += each + printer.loads() + "  }\n" + each;
  text += fmt::format("    Pack<{}, {}> result;\n", type, lanes);
  text += printer.for_each_lane(
      fmt::format("      result.at[lane] = Convert<{}>::from(s{});\n", type, region.store.scalar));
  text +=
      fmt::format("    *reinterpret_cast<Pack<{}, {}>*>(out + k) = result;\n  }}\n", type, lanes);
  if (whole < region.kept)
    text += fmt::format(
        "  if (blockIdx.x == 0 && threadIdx.x < {}) {{\n    const Int k = {} + threadIdx.x;\n{}  "
        "}}\n",
        region.kept - whole, whole, store_lanes(region, scalars, 1));
  GeneratedKernel kernel = named(text + "}\n");
  kernel.grid_x = unsigned(std::max<int64_t>((whole + step * unroll - 1) / (step * unroll), 1));
  return kernel;
}

}  // namespace

const std::vector<SourceFile>& prelude_files() {
  static const std::vector<SourceFile> files = [] {
    std::vector<SourceFile> list;
    for (const char* path : {kPrelude, "engine/cuda/kernels/unary_math.cuh", "graph/unary_fn.h"}) {
      std::string name = path;
      list.push_back({name, std::string(prelude_file(name.substr(name.rfind('/') + 1)))});
    }
    return list;
  }();
  return files;
}

GeneratedKernel generate(const Region& region, int multiprocessors) {
  if (region.reduction == Reduction::none) {
    std::optional<GeneratedKernel> tiles = generate_tiles(region);
    return tiles ? *tiles : generate_map(region);
  }
  return region.rows ? generate_rows(region, multiprocessors)
                     : generate_columns(region, multiprocessors);
}

}  // namespace stoker::fuser
