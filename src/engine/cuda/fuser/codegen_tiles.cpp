// Regions that read an operand turned: its neighbours are not neighbours of the result. A block
// reads a square of it along the operand's rows into shared memory and goes on along the result's.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "engine/cuda/fuser/kernel_text.h"
#include "engine/cuda/fuser/printer.h"

namespace stoker::fuser {

namespace {

constexpr int kSide = 64;
constexpr int64_t kLeast = 16;  // along either axis, for squares to be worth it

// k = a + inner · (b + turned · rest): a runs along the result, b along the operand.
struct Turn {
  int64_t inner = 0, turned = 0;
  std::vector<int> loads;
  int lanes = 1;  // of the operand's vectors
};

// The term along which a load's neighbours lie, if that is not the innermost axis of the result.
const Quotient* along(const Scalar& load) {
  for (const Index::Term& term : load.place.terms()) {
    const Quotient& q = term.quotient;
    if (term.factor == 1 && q.sum == nullptr && q.divisor >= kLeast && q.bound() >= kLeast &&
        q.extent % (q.divisor * q.bound()) == 0)
      return &q;
  }
  return nullptr;
}

int lanes_along(const Scalar& load) {
  int64_t common = load.place.constant();
  for (const Index::Term& term : load.place.terms())
    common = std::gcd(common, term.factor == 1 ? term.quotient.bound() : term.factor);
  return common % 4 == 0 && size_of(load.dtype) <= 4 && load.ranges.empty() ? 4 : 1;
}

std::optional<Turn> find_turn(const Region& region) {
  constexpr size_t kShared = 48 << 10;
  Turn turn;
  size_t bytes = 0;
  for (int i = 0; i < int(region.scalars.size()); ++i) {
    const Scalar& load = region.scalars[size_t(i)];
    if (load.operation != Operation::load || !is_large(region, load)) continue;
    const Quotient* q = along(load);
    if (q == nullptr) continue;
    if (!turn.loads.empty() && (q->divisor != turn.inner || q->bound() != turn.turned)) continue;
    bytes += kSide * (kSide + 4) * size_of(load.dtype);
    if (bytes > kShared) return std::nullopt;
    turn.lanes = turn.loads.empty() ? lanes_along(load) : std::min(turn.lanes, lanes_along(load));
    turn.inner = q->divisor;
    turn.turned = q->bound();
    turn.loads.push_back(i);
  }
  return turn.loads.empty() ? std::nullopt : std::optional(turn);
}

// Of a row of a square, in elements: rows begin in different banks.
int pitch_of(DType dtype) { return kSide + std::max(1, int(4 / size_of(dtype))); }

// for_squares("a", "b", 4, body): the elements (a, b..b+3) of a square, shared among the threads.
std::string for_squares(const Turn& turn, const char* row, const char* column, int lanes,
                        const std::string& body) {
  int packs = kSide / lanes, rows = int(GeneratedKernel::kThreads) / packs;
  return fmt::format(
      "#pragma unroll\n  for (int pass = 0; pass < {0}; ++pass) {{\n"
      "    const int {1} = threadIdx.x / {3} + pass * {4}, {2} = threadIdx.x % {3} * {5};\n"
      "    if (first_a + a >= {6} || first_b + b >= {7}) continue;\n"
      "    const Int k = first_a + a + Int({6}) * (first_b + b + Int({7}) * rest);\n{8}  }}\n",
      kSide / rows, row, column, packs, rows, lanes, turn.inner, turn.turned, body);
}

}  // namespace

std::optional<GeneratedKernel> generate_tiles(const Region& region) {
  std::optional<Turn> turn = find_turn(region);
  if (!turn) return std::nullopt;
  int64_t wide = (turn->inner + kSide - 1) / kSide, high = (turn->turned + kSide - 1) / kSide;
  int64_t rest = region.kept / (turn->inner * turn->turned);
  int lanes = turn->inner % 4 == 0 ? 4 : 1;
  std::string text = heading(region) + signature(region, false);
  text += fmt::format(
      "  const Int first_a = blockIdx.x % {0} * {2}, first_b = blockIdx.x / {0} % {1} * {2};\n"
      "  const Int rest = blockIdx.x / {3};\n",
      wide, high, kSide, wide * high);
  std::string fill;
  for (int index : turn->loads) {
    const Scalar& load = region.scalars[size_t(index)];
    std::string_view type = element_type(load.dtype);
    int pitch = pitch_of(load.dtype);
    text += fmt::format("  __shared__ {} tile{}[{}];\n", type, index, kSide * pitch);
    std::string condition;
    for (const Range& range : load.ranges)
      condition += (condition.empty() ? "" : " && ") + range.text();
    fill += fmt::format(
        "    {{ Pack<{0}, {1}> pack = {{}};\n"
        "    if ({2}) pack = load<{0}, {1}>(p{3} + ({4}));\n"
        "#pragma unroll\n    for (int i = 0; i < {1}; ++i) tile{5}[a * {6} + b + i] = pack.at[i]; "
        "}}\n",
        type, turn->lanes, condition.empty() ? "true" : condition, load.slot, load.place.text(),
        index, pitch);
  }
  text += for_squares(*turn, "a", "b", turn->lanes, fill) + "  __syncthreads();\n";
  Printer printer(region, needed(region, region.store.scalar, false), Counter::kept, lanes, 1);
  printer.take_tiled(turn->loads);
  std::string type(element_type(region.store.dtype));
  std::string body = "    constexpr int u = 0;\n" + printer.declarations() + printer.loads();
  for (int index : turn->loads)
    body += fmt::format(
        "#pragma unroll\n    for (int i = 0; i < {0}; ++i) l{1}[u].at[i] = tile{1}[(a + i) * {2} + "
        "b];\n",
        lanes, index, pitch_of(region.scalars[size_t(index)].dtype));
  body += fmt::format("    Pack<{}, {}> result;\n", type, lanes);
  body += printer.for_each_lane(
      fmt::format("      result.at[lane] = Convert<{}>::from(s{});\n", type, region.store.scalar));
  body += fmt::format("    *reinterpret_cast<Pack<{}, {}>*>(out + k) = result;\n", type, lanes);
  text += for_squares(*turn, "b", "a", lanes, body) + "}\n";
  GeneratedKernel kernel = named(std::move(text));
  kernel.grid_x = unsigned(wide * high * rest);
  return kernel;
}

}  // namespace stoker::fuser
