// Ops that only move elements, by their size: 1, 2, 4 or 8 bytes.
#include <cstring>

#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/ops/strided.h"

namespace stoker::cpu {

namespace {

// Row-major strides.
std::array<int64_t, Shape::kMaxRank> strides_of(const Shape& shape) {
  std::array<int64_t, Shape::kMaxRank> strides{};
  int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    strides[size_t(d)] = stride;
    stride *= shape[d];
  }
  return strides;
}

template <class T>
void copy_run(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t count) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, size_t(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
}

// `to` and `from` are elements to skip in the output and the input; operand 0 of the loop is the
// output.
template <class T>
void copy_strided(const StridedLoop<2>& loop, const void* source, int64_t from, void* target,
                  int64_t to) {
  for_each_run(loop, [&](const auto& at, int64_t count) {
    copy_run(static_cast<const T*>(source) + from + at[1], loop.step(1),
             static_cast<T*>(target) + to + at[0], loop.step(0), count);
  });
}

using CopyStrided = void (*)(const StridedLoop<2>&, const void*, int64_t, void*, int64_t);
CopyStrided strided_copier(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return copy_strided<uint8_t>;
    case 2:
      return copy_strided<uint16_t>;
    case 4:
      return copy_strided<uint32_t>;
    default:
      return copy_strided<uint64_t>;
  }
}

// Transposes whose output's neighbours are far apart in the input, in tiles: a line of either is
// used while it is in the cache. x: [rows, columns] with rows `from_stride` apart → y: [columns,
// rows] with rows `to_stride` apart.
template <class T>
void transpose_tile(const T* x, int64_t from_stride, T* y, int64_t to_stride, int64_t rows,
                    int64_t columns) {
  constexpr int64_t kTile = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kTile)
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      int64_t r1 = r0 + kTile < rows ? r0 + kTile : rows,
              c1 = c0 + kTile < columns ? c0 + kTile : columns;
      for (int64_t c = c0; c < c1; ++c)
        for (int64_t r = r0; r < r1; ++r) y[c * to_stride + r] = x[r * from_stride + c];
    }
}

// The loop of a transpose without its last dimension and the dimension `near` that steps by one in
// the input: every run of what remains is a matrix to turn.
template <class T>
void transpose_matrices(const StridedLoop<2>& outer, int64_t rows, int64_t from_stride,
                        int64_t columns, int64_t to_stride, const void* source, void* target) {
  int64_t matrices = outer.runs() * outer.run();
  parallel_for(matrices * columns, kGrain / (rows + 1) + 1, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      int64_t matrix = begin / columns, first = begin % columns;
      int64_t count = columns - first < end - begin ? columns - first : end - begin;
      auto at = outer.offsets_of(matrix / outer.run());
      for (int i = 0; i < 2; ++i) at[size_t(i)] += matrix % outer.run() * outer.step(i);
      transpose_tile(static_cast<const T*>(source) + at[1] + first, from_stride,
                     static_cast<T*>(target) + at[0] + first * to_stride, to_stride, rows, count);
      begin += count;
    }
  });
}

template <class T>
void emit_transpose(Builder& b, int x, int y, const StridedLoop<2>& loop) {
  int near = -1;
  for (int d = 0; d < loop.rank; ++d)
    if (loop.strides[1][size_t(d)] == 1) near = d;
  if (near < 0 || near == loop.rank - 1) {
    b.emit({"transpose", {x}, {y}},
           [=](Pointers p) { copy_strided<T>(loop, p.in<void>(0), 0, p.out<void>(1), 0); });
    return;
  }
  StridedLoop<2> outer;
  for (int d = 0; d + 1 < loop.rank; ++d)
    if (d != near)
      outer.append(loop.dims[size_t(d)], {loop.strides[0][size_t(d)], loop.strides[1][size_t(d)]});
  int64_t rows = loop.run(), from_stride = loop.step(1);
  int64_t columns = loop.dims[size_t(near)], to_stride = loop.strides[0][size_t(near)];
  b.emit({"transpose", {x}, {y}}, [=](Pointers p) {
    transpose_matrices<T>(outer, rows, from_stride, columns, to_stride, p.in<void>(0),
                          p.out<void>(1));
  });
}

void build_reshape(Builder& b, const Node& node) {
  b.define_alias(node.outputs[0], node.inputs[0]);
}

void build_transpose(Builder& b, const Node& node) {
  const Shape &x = b.shape(node.inputs[0]), &y = b.shape(node.outputs[0]);
  const Ints& perm = node.attrs.get<Ints>("perm");
  auto from = strides_of(x), to = strides_of(y);
  StridedLoop<2> loop;
  for (size_t d = 0; d < perm.size(); ++d) loop.append(y[int(d)], {to[d], from[size_t(perm[d])]});
  int in = b.plain(node.inputs[0]), out = b.define(node.outputs[0]);
  switch (size_of(b.spec(node.inputs[0]).dtype)) {
    case 1:
      return emit_transpose<uint8_t>(b, in, out, loop);
    case 2:
      return emit_transpose<uint16_t>(b, in, out, loop);
    case 4:
      return emit_transpose<uint32_t>(b, in, out, loop);
    default:
      return emit_transpose<uint64_t>(b, in, out, loop);
  }
}

// x₀ … xₙ → y, one instruction an input
void build_concat(Builder& b, const Node& node) {
  const Shape& y = b.shape(node.outputs[0]);
  auto axis = int(node.attrs.get<int64_t>("axis"));
  auto copy = strided_copier(b.spec(node.outputs[0]).dtype);
  auto to = strides_of(y);
  std::vector<int> reads;
  std::vector<StridedLoop<2>> loops;
  std::vector<int64_t> skips;
  int64_t at = 0;
  for (int value : node.inputs) {
    const Shape& x = b.shape(value);
    auto from = strides_of(x);
    StridedLoop<2> loop;
    for (int d = 0; d < x.rank(); ++d) loop.append(x[d], {to[size_t(d)], from[size_t(d)]});
    reads.push_back(b.plain(value));
    loops.push_back(loop);
    skips.push_back(x.elements() == 0 ? -1 : at * to[size_t(axis)]);
    at += x[axis];
  }
  b.emit({"concat", reads, {b.define(node.outputs[0])}},
         [=, loops = std::move(loops), skips = std::move(skips)](Pointers p) {
           for (size_t i = 0; i < loops.size(); ++i)
             if (skips[i] >= 0)
               copy(loops[i], p.in<void>(int(i)), 0, p.out<void>(int(loops.size())), skips[i]);
         });
}

void build_slice(Builder& b, const Node& node) {
  const Shape &x = b.shape(node.inputs[0]), &y = b.shape(node.outputs[0]);
  const Ints& begin = node.attrs.get<Ints>("begin");
  auto from = strides_of(x), to = strides_of(y);
  StridedLoop<2> loop;
  int64_t skip = 0;
  for (size_t d = 0; d < begin.size(); ++d) {
    loop.append(y[int(d)], {to[d], from[d]});
    skip += begin[d] * from[d];
  }
  auto copy = strided_copier(b.spec(node.inputs[0]).dtype);
  int in = b.plain(node.inputs[0]);
  if (y.elements() == 0) {
    b.define(node.outputs[0]);
    return;
  }
  b.emit({"slice", {in}, {b.define(node.outputs[0])}},
         [=](Pointers p) { copy(loop, p.in<void>(0), skip, p.out<void>(1), 0); });
}

void build_broadcast_to(Builder& b, const Node& node) {
  auto loop = broadcast_loop<2>(b.shape(node.outputs[0]), {b.shape(node.inputs[0])});
  auto copy = strided_copier(b.spec(node.inputs[0]).dtype);
  int in = b.plain(node.inputs[0]);
  b.emit({"broadcast", {in}, {b.define(node.outputs[0])}},
         [=](Pointers p) { copy(loop, p.in<void>(0), 0, p.out<void>(1), 0); });
}

// Another dtype; not an alias, because passes take those for the same numbers.
void build_bitcast(Builder& b, const Node& node) {
  int in = b.plain(node.inputs[0]);
  b.emit_copy(in, b.define(node.outputs[0]), Layout().bytes(b.spec(node.inputs[0])));
}

}  // namespace

void add_shape_builders(OpBuilders& table) {
  table["reshape"] = {anything, build_reshape};
  table["identity"] = {anything, build_reshape};
  table["bitcast"] = {anything, build_bitcast};
  table["transpose"] = {anything, build_transpose};
  table["concat"] = {anything, build_concat};
  table["slice"] = {anything, build_slice};
  table["broadcast_to"] = {anything, build_broadcast_to};
}

}  // namespace stoker::cpu
