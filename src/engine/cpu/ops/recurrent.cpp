// recurrent and recurrent_grad. The product of all inputs with the kernel is one call of oneDNN; then
// every step is one pass of the team over tiles. Backwards alike, with the transposed kernel; the
// gradient of a kernel is one product over all steps. Buffers hold steps in the order in which they
// are done: [T, B, …].
#include <algorithm>
#include <cstring>

#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/ops/recurrent_tiles.h"

namespace stoker::cpu {

namespace {

// What a forward pass leaves for its gradient, by buffer: gates [T, B, columns], h [T + 1, B, units],
// c likewise; of a gru the candidate's part of h · R, [T, B, units].
struct RecurrentKept {
  int gates, h, c;
};

size_t float_bytes(int64_t count) { return size_t(count) * sizeof(float); }

std::vector<TensorSpec> input_specs(const Builder& b, const Node& node) {
  std::vector<TensorSpec> specs;
  for (int value : node.inputs) specs.push_back(b.spec(value));
  return specs;
}

// x: [B, T, n] ↔ [T, B, n] in the order of the steps.
enum class Way : uint8_t { to_steps, from_steps };
void emit_steps(Builder& b, const RecurrentShape& shape, Way way, int from, int to, int64_t n) {
  b.emit({own_kernel(), {from}, {to}, "transpose"}, [=](Pointers p) {
    parallel_for(shape.steps(), kGrain / (n + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t row = i % shape.batch, t = shape.at(i / shape.batch);
        int64_t other = (row * shape.length + t) * n;
        bool in = way == Way::to_steps;
        std::memcpy(p.out<float>(1) + (in ? i * n : other), p.in<float>(0) + (in ? other : i * n),
                    float_bytes(n));
      }
    });
  });
}

// y of one tile, behind its step.
void write_y(const RecurrentShape& s, const RecurrentTile& tile, int64_t row, int64_t unit,
             int64_t step, float* y) {
  auto at = [&](int64_t r, int64_t done) {
    return y + ((row + r) * s.length + s.at(done)) * s.units + unit;
  };
  auto bytes = float_bytes(tile.n);
  for (int64_t r = 0; r < tile.rows; ++r) {
    bool counts = tile.mask == nullptr || tile.mask[r * tile.mask_stride];
    if (counts)
      std::memcpy(at(r, step), tile.h + r * s.units, bytes);
    else if (s.zero_masked || step == 0)
      std::memset(at(r, step), 0, bytes);
    else
      std::memcpy(at(r, step), at(r, step - 1), bytes);
  }
}

struct ForwardPointers {
  const float* bias;  // of a gru
  const bool* mask;
  float *gates, *h, *c, *y, *kernel, *packed;  // packed: h twice, for this step and the next
};

void forward_step(const RecurrentTiles& tiles, const ForwardPointers& p, int64_t step) {
  const RecurrentShape& s = tiles.shape;
  const int64_t states = s.batch * s.units, panels = tiles.packed_rows(s.units), g = s.gates();
  const float* now = p.packed + (step % 2) * panels;
  float* next = p.packed + ((step + 1) % 2) * panels;
  tiles.for_each([&](const Tile& at) {
    alignas(64) float product[4 * kTileRows * kWidest];
    for (int64_t gate = 0; gate < g; ++gate)
      kernels().gemm_tile[at.rows - 1](
          now + at.row * s.units, p.kernel + (at.block * g + gate) * s.units * tiles.width, s.units,
          product + gate * kTileRows * tiles.width, tiles.width, false);
    int64_t before = step * states + at.row * s.units + at.unit;
    RecurrentTile tile{.rows = at.rows,
                       .n = at.units,
                       .units = s.units,
                       .width = tiles.width,
                       .product = product,
                       .gates = p.gates + (step * s.batch + at.row) * s.columns() + at.unit,
                       .bias = p.bias == nullptr ? nullptr : p.bias + at.unit,
                       .h_before = p.h + before,
                       .c_before = p.c + before,
                       .h = p.h + states + before,
                       .c = p.c + (s.cell == Cell::lstm ? states : 0) + before,
                       .mask = p.mask ? p.mask + at.row * s.length + s.at(step) : nullptr,
                       .mask_stride = s.length,
                       .packed = next + at.row * s.units + at.unit * kTileRows};
    kernels().recurrent_tile[int(s.cell)](tile);
    if (p.y != nullptr) write_y(s, tile, at.row, at.unit, step, p.y);
  });
}

// Whether products over all steps are of bfloat16; those of one step are of float32.
bool in_bfloat16(const Node& node) { return node.attrs.get_or("bfloat16", false); }

// reads: x, kernel, recurrent_kernel, bias, h [, c] [, mask]; writes: y, h [, c], each -1 where
// nothing reads it
RecurrentKept emit_forward(Builder& b, const RecurrentShape& s, const std::vector<int>& reads,
                           const std::vector<int>& writes, bool bfloat16) {
  bool lstm = s.cell == Cell::lstm, gru = s.cell == Cell::gru;
  RecurrentTiles tiles(s);
  RecurrentKept kept{b.kept(float_bytes(s.steps() * s.columns())),
                     b.kept(float_bytes((s.length + 1) * s.batch * s.units)),
                     b.kept(float_bytes(lstm  ? (s.length + 1) * s.batch * s.units
                                        : gru ? s.steps() * s.units
                                              : 1))};
  int x = b.scratch(float_bytes(s.steps() * s.features));
  emit_steps(b, s, Way::to_steps, reads[0], x, s.features);
  Shape steps{s.steps(), s.features}, kernel{s.features, s.columns()};
  emit_matmul(b,
              {x, reads[1], kept.gates, matrix_desc(steps, false), matrix_desc(kernel, false),
               matrix_desc({s.steps(), s.columns()}, false), reads[3],
               matrix_desc({1, s.columns()}, false), bfloat16},
              attr_with_scratchpad(), "recurrent inputs");

  Call call{own_kernel(), {reads.begin() + 2, reads.end()}, {kept.gates, kept.h, kept.c}, {}};
  size_t first = call.reads.size();
  call.writes.push_back(b.scratch(float_bytes(tiles.packed_kernel())));
  call.writes.push_back(b.scratch(float_bytes(2 * tiles.packed_rows(s.units))));
  std::vector<int> place(writes.size(), -1);
  for (size_t i = 0; i < writes.size(); ++i)
    if (writes[i] >= 0) {
      place[i] = int(first + call.writes.size());
      call.writes.push_back(writes[i]);
    }
  b.emit(std::move(call), [=](Pointers p) {
    // R, bias, h [, c] [, mask], then gates, h, c, packed R, packed h and results
    const int64_t states = s.batch * s.units;
    auto made = [&](size_t index) { return p.out<float>(int(first + index)); };
    ForwardPointers f{.bias = gru ? p.in<float>(1) + s.columns() : nullptr,
                      .mask = s.masked ? p.in<bool>(int(2 + s.states())) : nullptr,
                      .gates = made(0),
                      .h = made(1),
                      .c = made(2),
                      .y = place[0] >= 0 ? p.out<float>(place[0]) : nullptr,
                      .kernel = made(3),
                      .packed = made(4)};
    std::memcpy(f.h, p.in<float>(2), float_bytes(states));
    if (lstm) std::memcpy(f.c, p.in<float>(3), float_bytes(states));
    tiles.pack_kernel(p.in<float>(0), f.kernel);
    tiles.pack_rows(f.h, s.units, f.packed);
    for (int64_t step = 0; step < s.length; ++step) forward_step(tiles, f, step);
    if (place[1] >= 0)
      std::memcpy(p.out<float>(place[1]), f.h + s.length * states, float_bytes(states));
    if (lstm && place[2] >= 0)
      std::memcpy(p.out<float>(place[2]), f.c + s.length * states, float_bytes(states));
  });
  return kept;
}

void build_recurrent(Builder& b, const Node& node) {
  RecurrentShape shape(node.attrs, input_specs(b, node));
  std::vector<int> reads, writes;
  for (int value : node.inputs) reads.push_back(b.plain(value));
  for (int value : node.outputs) writes.push_back(b.is_read(value) ? b.define(value) : -1);
  RecurrentKept kept = emit_forward(b, shape, reads, writes, in_bfloat16(node));
  b.attachments()[node.outputs[0]] = {kept.gates, kept.h, kept.c};
}

// --- backwards ---

struct BackwardPointers {
  const float *gates, *h, *c, *dy;
  const bool* mask;
  float *dgates, *drecurrent, *kernel, *packed, *dh, *dc, *repeated;
};

// The tiles of a step; step -1: only what reaches the initial h.
void backward_step(const RecurrentTiles& tiles, const BackwardPointers& p, int64_t step) {
  const RecurrentShape& s = tiles.shape;
  const int64_t states = s.batch * s.units, panels = tiles.packed_rows(s.columns());
  const float* behind = p.packed + ((step + 1) % 2) * panels;
  float* next = p.packed + ((step + 2) % 2) * panels;
  bool begins = step == s.length - 1, ends = step < 0;
  tiles.for_each([&](const Tile& at) {
    alignas(64) float product[kTileRows * kWidest];
    if (!begins)
      kernels().gemm_tile[at.rows - 1](behind + at.row * s.columns(),
                                       p.kernel + at.block * s.columns() * tiles.width, s.columns(),
                                       product, tiles.width, false);
    int64_t now = std::max<int64_t>(step, 0), state = at.row * s.units + at.unit;
    int64_t before = now * states + state;
    int64_t gates = (now * s.batch + at.row) * s.columns() + at.unit;
    RecurrentGradTile tile{
        .rows = at.rows,
        .n = at.units,
        .units = s.units,
        .width = tiles.width,
        .product = begins ? nullptr : product,
        .gates = ends ? nullptr : p.gates + gates,
        .dgates = p.dgates + gates,
        .drecurrent = p.drecurrent + gates,
        .h_before = p.h + before,
        .c_before = p.c + before,
        .c = p.c + (s.cell == Cell::lstm ? states : 0) + before,
        .dy = ends ? nullptr : p.dy + (at.row * s.length + s.at(step)) * s.units + at.unit,
        .dy_stride = s.length * s.units,
        .dh = p.dh + state,
        .dc = p.dc + state,
        .repeated = p.repeated + state,
        .mask = p.mask && !ends ? p.mask + at.row * s.length + s.at(step) : nullptr,
        .mask_stride = s.length,
        .zero_masked = s.zero_masked,
        .packed = next + at.row * s.columns() + at.unit * kTileRows};
    kernels().recurrent_grad_tile[int(s.cell)](tile);
  });
}

// The sums of the columns of dgates [T · B, columns].
void emit_bias_gradient(Builder& b, const RecurrentShape& s, int dgates, int drecurrent,
                        int dbias) {
  b.emit({own_kernel(), {dgates, drecurrent}, {dbias}, "recurrent bias"}, [=](Pointers p) {
    constexpr int64_t kMost = KernelTable::kColumns;
    int64_t parts = (s.columns() + kMost - 1) / kMost, sides = s.cell == Cell::gru ? 2 : 1;
    parallel_for(sides * parts, kGrain / (s.steps() + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t side = i / parts, first = i % parts * kMost;
        kernels().fold_columns[kSum](p.in<float>(int(side)) + first,
                                     p.out<float>(2) + side * s.columns() + first, s.steps(),
                                     std::min(kMost, s.columns() - first), s.columns());
      }
    });
  });
}

// Where the operands of the loop back stand.
struct BackwardBuffers {
  RecurrentKept kept;
  int dgates, drecurrent, dh, dc;
};

void emit_loop_back(Builder& b, const RecurrentShape& s, const std::vector<int>& in,
                    const BackwardBuffers& at) {
  RecurrentTiles tiles(s);
  bool lstm = s.cell == Cell::lstm, gru = s.cell == Cell::gru;
  Call call{own_kernel(), {at.kept.gates, at.kept.h, at.kept.c, in[2], in[s.dy()]}, {}, {}};
  call.reads.push_back(in[s.dstate(0)]);
  call.reads.push_back(in[s.dstate(lstm ? 1 : 0)]);
  call.reads.push_back(in[s.masked ? s.mask() : 2]);
  call.writes = {at.dgates,
                 at.dh,
                 b.scratch(float_bytes(tiles.packed_kernel())),
                 b.scratch(float_bytes(2 * tiles.packed_rows(s.columns()))),
                 b.scratch(float_bytes(s.batch * s.units)),
                 at.dc};
  if (gru) call.writes.push_back(at.drecurrent);
  b.emit(std::move(call), [=](Pointers p) {
    auto states = float_bytes(s.batch * s.units);
    BackwardPointers f{.gates = p.in<float>(0),
                       .h = p.in<float>(1),
                       .c = p.in<float>(2),
                       .dy = p.in<float>(4),
                       .mask = s.masked ? p.in<bool>(7) : nullptr,
                       .dgates = p.out<float>(8),
                       .drecurrent = p.out<float>(gru ? 14 : 8),
                       .kernel = p.out<float>(10),
                       .packed = p.out<float>(11),
                       .dh = p.out<float>(9),
                       .dc = p.out<float>(13),
                       .repeated = p.out<float>(12)};
    std::memcpy(f.dh, p.in<float>(5), states);
    if (lstm) std::memcpy(f.dc, p.in<float>(6), states);
    std::memset(f.repeated, 0, states);
    tiles.pack_transposed(p.in<float>(3), f.kernel);
    for (int64_t step = s.length; step-- > 0;) backward_step(tiles, f, step);
    if (s.length > 0) backward_step(tiles, f, -1);
  });
}

RecurrentKept kept_of(Builder& b, const RecurrentShape& s, const Node& node,
                      const std::vector<int>& in) {
  int y = node.inputs[s.y()];
  auto found = b.attachments().find(y);
  const Node* forward = b.graph().producer(y);
  bool same = found != b.attachments().end() && forward->attrs == node.attrs &&
              std::equal(forward->inputs.begin(), forward->inputs.end(), node.inputs.begin());
  if (same) return {found->second[0], found->second[1], found->second[2]};
  return emit_forward(b, s, std::vector<int>(in.begin(), in.begin() + long(s.operands())),
                      std::vector<int>(1 + s.states(), -1), in_bfloat16(node));
}

void build_recurrent_grad(Builder& b, const Node& node) {
  RecurrentShape s(node.attrs, input_specs(b, node));
  std::vector<int> in;
  for (int value : node.inputs) in.push_back(b.plain(value));
  auto result = [&](size_t index) {
    int value = node.outputs[index];
    return b.is_read(value) ? b.define(value) : -1;
  };
  auto or_scratch = [&](int buffer) {
    return buffer >= 0 ? buffer : b.scratch(float_bytes(s.batch * s.units));
  };
  RecurrentKept kept = kept_of(b, s, node, in);
  int gates = b.scratch(float_bytes(s.steps() * s.columns()));
  int other = s.cell == Cell::gru ? b.scratch(float_bytes(s.steps() * s.columns())) : gates;
  int dc = s.cell == Cell::lstm ? or_scratch(result(5)) : b.scratch(sizeof(float));
  emit_loop_back(b, s, in, {kept, gates, other, or_scratch(result(4)), dc});

  const bool bfloat16 = in_bfloat16(node);
  Shape steps{s.steps(), s.columns()}, x{s.steps(), s.features}, h{s.steps(), s.units};
  Shape kernel{s.features, s.columns()}, recurrent{s.units, s.columns()};
  if (int dx = result(0); dx >= 0) {
    int made = b.scratch(float_bytes(s.steps() * s.features));
    emit_matmul(b,
                {gates,
                 in[1],
                 made,
                 matrix_desc(steps, false),
                 matrix_desc(kernel, true),
                 matrix_desc(x, false),
                 -1,
                 {},
                 bfloat16},
                attr_with_scratchpad(), "recurrent dx");
    emit_steps(b, s, Way::from_steps, made, dx, s.features);
  }
  if (int dkernel = result(1); dkernel >= 0) {
    int made = b.scratch(float_bytes(s.steps() * s.features));
    emit_steps(b, s, Way::to_steps, in[0], made, s.features);
    emit_matmul(b,
                {made,
                 gates,
                 dkernel,
                 matrix_desc(x, true),
                 matrix_desc(steps, false),
                 matrix_desc(kernel, false),
                 -1,
                 {},
                 bfloat16},
                attr_with_scratchpad(), "recurrent dkernel");
  }
  if (int drecurrent = result(2); drecurrent >= 0)
    emit_matmul(b,
                {kept.h,
                 other,
                 drecurrent,
                 matrix_desc(h, true),
                 matrix_desc(steps, false),
                 matrix_desc(recurrent, false),
                 -1,
                 {},
                 bfloat16},
                attr_with_scratchpad(), "recurrent dkernel");
  if (int dbias = result(3); dbias >= 0) emit_bias_gradient(b, s, gates, other, dbias);
}

}  // namespace

void add_recurrent_builders(OpBuilders& table) {
  table["recurrent"] = {floats, build_recurrent};
  table["recurrent_grad"] = {floats, build_recurrent_grad};
}

}  // namespace stoker::cpu
