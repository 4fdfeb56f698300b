// Reductions run as one or more stages on a view [outer, reduced, inner] of a plain tensor; two
// reduced axes with a kept one between them take two stages.
#include <algorithm>
#include <limits>
#include <string_view>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

struct Stage {
  int64_t outer, reduced, inner;
};

// Neighbouring axes of a kind are one; from the last group of reduced axes to the first.
std::vector<Stage> stages_of(const Shape& shape, const Ints& axes) {
  auto reduced = [&](int axis) { return std::ranges::find(axes, axis) != axes.end(); };
  std::vector<Stage> stages;
  int64_t inner = 1;
  for (int axis = shape.rank() - 1; axis >= 0;) {
    if (!reduced(axis)) {
      inner *= shape[axis--];
      continue;
    }
    int64_t length = 1, outer = 1;
    while (axis >= 0 && reduced(axis)) length *= shape[axis--];
    for (int before = axis; before >= 0; --before) outer *= shape[before];
    stages.push_back({outer, length, inner});
  }
  if (stages.empty()) stages.push_back({1, 1, inner});
  return stages;
}

// A whole tensor to one number: every worker folds a stretch, and the stretches are folded in
// order.
float fold_all(const float* x, int64_t n, int fn) {
  constexpr int kWorkers = 256;
  float partial[kWorkers];
  int pieces = n < 2 * kGrain ? 1 : std::min(team_size(), kWorkers);
  if (pieces == 1) return kernels().fold[fn](x, n);
  parallel_team(n, kGrain, [&](int worker, int) {
    if (worker >= pieces) return;
    Part part = part_of(n, worker, pieces, 16);
    partial[worker] = kernels().fold[fn](x + part.begin, part.end - part.begin);
  });
  return kernels().fold[fn](partial, pieces);
}

void fold_stage(const float* x, float* y, const Stage& stage, int fn) {
  if (stage.reduced == 0) {
    std::fill_n(y, stage.outer * stage.inner, kernels().fold[fn](x, 0));
  } else if (stage.outer == 1 && stage.inner == 1) {
    y[0] = fold_all(x, stage.reduced, fn);
  } else if (stage.inner == 1) {
    parallel_for(stage.outer, kGrain / (stage.reduced + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        y[row] = kernels().fold[fn](x + row * stage.reduced, stage.reduced);
    });
  } else {
    // Columns in tiles, so that a few wide rows keep the whole team busy.
    constexpr int64_t kTile = 64;
    int64_t tiles = (stage.inner + kTile - 1) / kTile;
    parallel_for(stage.outer * tiles, kGrain / (stage.reduced * kTile) + 1,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     int64_t row = i / tiles, column = i % tiles * kTile;
                     kernels().fold_columns[fn](x + row * stage.reduced * stage.inner + column,
                                                y + row * stage.inner + column, stage.reduced,
                                                std::min(kTile, stage.inner - column), stage.inner);
                   }
                 });
  }
}

void build_float_reduce(Builder& b, const Node& node, int fn, bool mean) {
  int x = node.inputs[0], y = node.outputs[0];
  std::vector<Stage> stages = stages_of(b.shape(x), node.attrs.get<Ints>("axes"));
  int64_t elements = b.shape(y).elements(), total = b.shape(x).elements();
  float scale = mean && total > 0 ? float(double(elements) / double(total)) : 1;
  int from = b.plain(x), result = b.define(y);
  for (size_t i = 0; i < stages.size(); ++i) {
    Stage stage = stages[i];
    bool last = i + 1 == stages.size();
    int to = last ? result : b.scratch(size_t(stage.outer * stage.inner) * sizeof(float));
    b.emit({own_kernel(), {from}, {to}, last ? "" : "reduce"}, [=](Pointers p) {
      float* out = p.out<float>(1);
      fold_stage(p.in<float>(0), out, stage, fn);
      if (last && mean)
        for (int64_t k = 0; k < elements; ++k) out[k] *= scale;
    });
    from = to;
  }
}

template <class T>
T fold_integers(T a, T b, int fn) {
  using U = std::make_unsigned_t<T>;
  switch (fn) {
    case kSum:
      return T(U(a) + U(b));
    case kMax:
      return a >= b ? a : b;
    case kMin:
      return a <= b ? a : b;
    default:
      return T(U(a) * U(b));
  }
}

// Rare (counting, indices): one loop, one thread.
template <class T>
void build_integer_reduce(Builder& b, const Node& node, int fn) {
  int x = node.inputs[0], y = node.outputs[0];
  std::vector<Stage> stages = stages_of(b.shape(x), node.attrs.get<Ints>("axes"));
  T start = fn == kSum    ? T(0)
            : fn == kProd ? T(1)
            : fn == kMax  ? std::numeric_limits<T>::min()
                          : std::numeric_limits<T>::max();
  int from = b.plain(x), result = b.define(y);
  for (size_t i = 0; i < stages.size(); ++i) {
    Stage s = stages[i];
    bool last = i + 1 == stages.size();
    int to = last ? result : b.scratch(size_t(s.outer * s.inner) * sizeof(T));
    b.emit({own_kernel(), {from}, {to}, last ? "" : "reduce"}, [=](Pointers p) {
      for (int64_t o = 0; o < s.outer; ++o)
        for (int64_t k = 0; k < s.inner; ++k) {
          T total = start;
          for (int64_t r = 0; r < s.reduced; ++r)
            total = fold_integers(total, p.in<T>(0)[(o * s.reduced + r) * s.inner + k], fn);
          p.out<T>(1)[o * s.inner + k] = total;
        }
    });
    from = to;
  }
}

// NaN is the largest of all: the first one is the maximum.
template <class T>
bool is_larger(T a, T b) {
  return a > b || (a != a && b == b);
}

// x: [outer, n, inner] → y: [outer, inner], the first of equals
template <class T>
void build_argmax_of(Builder& b, const Node& node) {
  const Shape& shape = b.shape(node.inputs[0]);
  auto axis = int(node.attrs.get<int64_t>("axis"));
  int64_t n = shape[axis], inner = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  int64_t results = b.shape(node.outputs[0]).elements();
  int x = b.plain(node.inputs[0]);
  b.emit({own_kernel(), {x}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    parallel_for(results, kGrain / 4 / (n + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = p.in<T>(0) + i / inner * n * inner + i % inner;
        int64_t best = 0;
        for (int64_t k = 1; k < n; ++k)
          if (is_larger(row[k * inner], row[best * inner])) best = k;
        p.out<int64_t>(1)[i] = best;
      }
    });
  });
}

void build_reduce(Builder& b, const Node& node) {
  const auto& name = node.attrs.get<std::string>("fn");
  int fn = name == "max" ? kMax : name == "min" ? kMin : name == "prod" ? kProd : kSum;
  switch (b.spec(node.inputs[0]).dtype) {
    case DType::int32:
      return build_integer_reduce<int32_t>(b, node, fn);
    case DType::int64:
      return build_integer_reduce<int64_t>(b, node, fn);
    default:
      return build_float_reduce(b, node, fn, name == "mean");
  }
}

void build_argmax(Builder& b, const Node& node) {
  switch (b.spec(node.inputs[0]).dtype) {
    case DType::int32:
      return build_argmax_of<int32_t>(b, node);
    case DType::int64:
      return build_argmax_of<int64_t>(b, node);
    default:
      return build_argmax_of<float>(b, node);
  }
}

}  // namespace

void add_reduction_builders(OpBuilders& table) {
  table["reduce"] = {numbers, build_reduce};
  table["argmax"] = {numbers, build_argmax};
}

}  // namespace stoker::cpu
