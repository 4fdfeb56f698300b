#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "engine/cuda/fuser/kernel_text.h"
#include "engine/cuda/fuser/printer.h"

namespace stoker::fuser {

namespace {

constexpr int kBlockThreads = GeneratedKernel::kThreads;
constexpr int kBlocksPerProcessor = 4;  // that a launch aims at
constexpr int kBytesInFlight = 128;     // per thread
constexpr int64_t kMostSplits = 256;    // of one result among blocks

int64_t blocks_of(int64_t items, int64_t each) { return (items + each - 1) / each; }
int power_below(int64_t x) {
  return int(std::bit_floor(uint64_t(std::clamp<int64_t>(x, 1, 1024))));
}

const char* join_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::max:
      return "Max";
    case Reduction::min:
      return "Min";
    case Reduction::prod:
      return "Prod";
    default:
      return "Sum";
  }
}

// What both kinds of reductions are made of.
struct Pieces {
  const Region& region;
  Counter counter;
  int lanes;
  std::vector<int> inner, before, after;  // scalars: in the loop, ahead of it, behind it
  Printer ahead, loop;
  int unroll;

  Pieces(const Region& r, Counter along)
      : region(r),
        counter(along),
        lanes(lanes_for(r, along)),
        inner(needed(r, r.reduces, true)),
        before(needed(r, r.reduces, false)),
        after(needed(r, r.store.scalar, false)),
        ahead(r, before, along, lanes, 1),
        loop(r, inner, along, lanes, 1),
        unroll(unroll_for(r, inner, lanes, kBytesInFlight)) {
    limit_unroll(r.gone);
    loop.take_kept(before);
  }

  // A thread has no more than so many loads to do.
  void limit_unroll(int64_t loads) {
    while (unroll > 1 && unroll / 2 >= loads) unroll /= 2;
    loop.set_unroll(unroll);
  }

  std::string join() const { return join_of(region.reduction); }
  // What is reduced: a scalar of the loop, or one that is the same for all of it.
  std::string element() const {
    bool varies = region.scalars[size_t(region.reduces)].varies;
    return varies ? fmt::format("s{}", region.reduces) : fmt::format("o{}[lane]", region.reduces);
  }

  // Scalars that all of the loop shares, as o<i>[lane].
  std::string hoisted() const {
    if (before.empty()) return "";
    std::string text, keep;
    for (int scalar : before) {
      text += fmt::format("  {} o{}[{}];\n", compute_type(region.scalars[size_t(scalar)].dtype),
                          scalar, lanes);
      keep += fmt::format("      o{0}[lane] = s{0};\n", scalar);
    }
    return text + "  { constexpr int u = 0;\n" +
           (counter == Counter::gone ? "  const Int r = 0;\n" : "") + ahead.declarations() +
           ahead.loads() + ahead.for_each_lane(keep) + "  }\n";
  }

  // The result of `reduced` under the name total[lane], from a name of its own.
  std::string finish(const std::string& from, int count) const {
    std::string text = fmt::format("    Acc total[{}];\n#pragma unroll\n", count);
    std::string mean;
    if (region.reduction == Reduction::mean) mean = fmt::format(" / float({})", region.gone);
    return text +
           fmt::format("    for (int i = 0; i < {}; ++i) total[i] = {}{};\n", count, from, mean);
  }
};

// `splits` blocks share a tile; the last of them joins what the others leave in memory.
GeneratedKernel finished(std::string text, const Region& region, int64_t tiles, int64_t splits) {
  GeneratedKernel kernel = named(std::move(text) + "}\n#undef Acc\n");
  kernel.grid_x = unsigned(tiles);
  kernel.grid_y = unsigned(splits);
  if (splits > 1) {
    kernel.partial_bytes = size_t(splits) * size_t(region.kept) * 8;
    kernel.counter_bytes = size_t(tiles) * sizeof(unsigned);
  }
  return kernel;
}

}  // namespace

// A block is `width` threads side by side, each with some columns, by `height` parts of the rows.
GeneratedKernel generate_columns(const Region& region, int multiprocessors) {
  Pieces p(region, Counter::kept);
  int64_t vectors = region.kept / p.lanes;
  // Narrow tiles leave the last block of each few partial results; 64 bytes side by side are enough.
  int width = std::min(8, power_below(vectors * 2 - 1));
  while (width > 4 && vectors % width != 0) width /= 2;
  int height = std::min(kBlockThreads / width, power_below(region.gone / p.unroll));
  width = kBlockThreads / height;
  int64_t tiles = blocks_of(vectors, width),
          wanted = int64_t(multiprocessors) * kBlocksPerProcessor;
  int64_t splits = 1;
  if (width * p.lanes <= kBlockThreads)
    splits = std::clamp<int64_t>(
        std::min(wanted / tiles, region.gone / (int64_t(height) * p.unroll * 2)), 1, kMostSplits);
  int64_t chunk = blocks_of(region.gone, splits);
  splits = blocks_of(region.gone, chunk);
  int columns = width * p.lanes;

  std::string text = heading(region) + signature(region, splits > 1);
  text += fmt::format(
      "  const int x = threadIdx.x % {0}, y = threadIdx.x / {0};\n"
      "  const Int k = (Int(blockIdx.x) * {0} + x) * {1};\n"
      "  Acc acc[{1}];\n#pragma unroll\n  for (int i = 0; i < {1}; ++i) acc[i] = "
      "{2}::start<Acc>();\n"
      "  if (k < Int({3})) {{\n",
      width, p.lanes, p.join(), region.kept);
  text += p.hoisted();
  text +=
      fmt::format("  const Int begin = Int(blockIdx.y) * {0}, end = min(begin + {0}, Int({1}));\n",
                  chunk, region.gone);
  std::string each = fmt::format(
      "#pragma unroll\n  for (int u = 0; u < {}; ++u) {{\n    const Int r = row + u * {};\n"
      "    if (r >= end) continue;\n",
      p.unroll, height);
  text += fmt::format("  for (Int row = begin + y; row < end; row += {}) {{\n", height * p.unroll);
  text += p.loop.declarations() + each + p.loop.loads() + "  }\n" + each;
  text += p.loop.for_each_lane(
      fmt::format("      acc[lane] = {}::join<Acc>(acc[lane], {});\n", p.join(), p.element()));
  text += "  }\n  }\n  }\n";
  if (height == 1 && splits == 1) {
    text += fmt::format("  if (k < Int({})) {{\n", region.kept);
    text += p.finish("acc[i]", p.lanes) + store_lanes(region, p.after, p.lanes) + "  }\n";
  } else {
    text += fmt::format("  __shared__ Acc parts[{}];\n", kBlockThreads * p.lanes);
    auto spread = [&](const std::string& from, int lanes) {
      return fmt::format(
          "  __syncthreads();\n"
          "#pragma unroll\n  for (int i = 0; i < {1}; ++i) parts[y * {2} + x * {1} + i] = {0};\n"
          "  __syncthreads();\n",
          from, lanes, columns);
    };
    auto down = [&](int rows, const std::string& then) {
      return fmt::format(
          "  for (int column = threadIdx.x; column < {0}; column += {1}) {{\n"
          "    const Int k = Int(blockIdx.x) * {0} + column;\n    if (k >= Int({2})) continue;\n"
          "    Acc sum = parts[column];\n#pragma unroll 8\n"
          "    for (int i = 1; i < {3}; ++i) sum = {4}::join<Acc>(sum, parts[i * {0} + column]);\n"
          "{5}  }}\n",
          columns, kBlockThreads, region.kept, rows, p.join(), then);
    };
    std::string store = p.finish("sum", 1) + store_lanes(region, p.after, 1);
    text += spread("acc[i]", p.lanes);
    if (splits == 1) {
      text += down(height, store);
    } else {
      int rows = kBlockThreads / columns;
      text +=
          down(height, fmt::format("    partials[Int(blockIdx.y) * {} + k] = sum;\n", region.kept));
      text += "  if (!is_last_block(counters + blockIdx.x, gridDim.y)) return;\n";
      text += fmt::format(
          "  {{ const int x = threadIdx.x % {0}, y = threadIdx.x / {0};\n"
          "  const Int k = Int(blockIdx.x) * {0} + x;\n  Acc sum = {1}::start<Acc>();\n"
          "  if (k < Int({2}))\n#pragma unroll 8\n    for (int split = y; split < {3}; split += "
          "{4})\n"
          "      sum = {1}::join<Acc>(sum, __ldcg(partials + Int(split) * {2} + k));\n",
          columns, p.join(), region.kept, splits, rows);
      text += spread("sum", 1) + down(rows, store) + "  }\n";
    }
  }
  return finished(std::move(text), region, tiles, splits);
}

// A group of neighbouring threads takes a row.
GeneratedKernel generate_rows(const Region& region, int multiprocessors) {
  Pieces p(region, Counter::gone);
  int64_t vectors = region.gone / p.lanes, whole = vectors * p.lanes;
  // Several loads for every thread, but neighbours read 64 bytes side by side.
  int group = std::min(
      kBlockThreads, std::max(power_below(vectors / p.unroll), std::min(power_below(vectors), 4)));
  int64_t wanted = int64_t(multiprocessors) * kBlocksPerProcessor;
  // Few rows: more threads for each.
  while (group < kBlockThreads && group * 2 <= vectors &&
         region.kept * group < wanted * kBlockThreads)
    group *= 2;
  p.limit_unroll(blocks_of(vectors, group));
  int rows = kBlockThreads / group;
  int64_t tiles = blocks_of(region.kept, rows);
  int64_t splits = 1;
  if (group == kBlockThreads)
    splits = std::clamp<int64_t>(std::min(wanted / tiles, vectors / (int64_t(group) * p.unroll)), 1,
                                 kMostSplits);
  int64_t chunk = std::max<int64_t>(blocks_of(vectors, splits), 1);
  splits = std::max<int64_t>(blocks_of(vectors, chunk), 1);

  std::string text = heading(region) + signature(region, splits > 1);
  text += fmt::format(
      "  const int place = threadIdx.x % {0};\n"
      "  const Int k = Int(blockIdx.x) * {1} + threadIdx.x / {0};\n  Acc acc = {2}::start<Acc>();\n"
      "  if (k < Int({3})) {{\n",
      group, rows, p.join(), region.kept);
  text += p.hoisted();
  text +=
      fmt::format("  const Int begin = Int(blockIdx.y) * {0}, end = min(begin + {0}, Int({1}));\n",
                  chunk, vectors);
  std::string each = fmt::format(
      "#pragma unroll\n  for (int u = 0; u < {}; ++u) {{\n    const Int r = (vector + u * {}) * "
      "{};\n"
      "    if (vector + u * {} >= end) continue;\n",
      p.unroll, group, p.lanes, group);
  std::string join = fmt::format("      acc = {}::join<Acc>(acc, {});\n", p.join(), p.element());
  text += fmt::format("  for (Int vector = begin + place; vector < end; vector += {}) {{\n",
                      group * p.unroll);
  text += p.loop.declarations() + each + p.loop.loads() + "  }\n" + each +
          p.loop.for_each_lane(join) + "  }\n  }\n";
  if (whole < region.gone) {
    Printer single(region, p.inner, Counter::gone, 1, 1);
    single.take_kept(p.before);
    text += fmt::format(
        "  if (blockIdx.y == 0)\n  for (Int r = {} + place; r < {}; r += {}) {{ constexpr int u = "
        "0;\n",
        whole, region.gone, group);
    text += single.declarations() + single.loads() + single.for_each_lane(join) + "  }\n";
  }
  text += fmt::format("  }}\n  acc = join_group<{}, {}, Acc>(acc);\n", p.join(), group);
  std::string store = p.finish("acc", 1) + store_lanes(region, p.after, 1);
  if (splits > 1) {
    text += fmt::format(
        "  if (place == 0 && k < Int({0})) partials[Int(blockIdx.y) * {0} + k] = acc;\n"
        "  if (!is_last_block(counters + blockIdx.x, gridDim.y)) return;\n"
        "  acc = {1}::start<Acc>();\n  if (k < Int({0}))\n#pragma unroll 4\n"
        "    for (int split = place; split < {2}; split += {3})\n"
        "      acc = {1}::join<Acc>(acc, __ldcg(partials + Int(split) * {0} + k));\n"
        "  acc = join_group<{1}, {3}, Acc>(acc);\n",
        region.kept, p.join(), splits, group);
  }
  text += fmt::format("  if (place == 0 && k < Int({})) {{\n{}  }}\n", region.kept, store);
  return finished(std::move(text), region, tiles, splits);
}

}  // namespace stoker::fuser
