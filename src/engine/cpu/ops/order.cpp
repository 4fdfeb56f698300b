// What is chosen, ordered and accumulated along an axis: take and its gradient, argsort, cumulate,
// segment_reduce.
#include "graph/ops/order.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

struct Indices {
  const void* data;
  DType dtype;
  int64_t operator[](int64_t i) const {
    return dtype == DType::int32 ? static_cast<const int32_t*>(data)[i]
                                 : static_cast<const int64_t*>(data)[i];
  }
};

// The row of [outer · extent] that index `item` of [outer · count] names.
int64_t taken_row(const TakeShape& shape, const Indices& indices, int64_t item) {
  int64_t index = indices[shape.shared ? item % shape.count : item];
  return item / shape.count * shape.extent + std::clamp<int64_t>(index, 0, shape.extent - 1);
}

template <class E>
void take_elements(const TakeShape& shape, const Indices& indices, const E* x, E* y, int64_t begin,
                   int64_t end) {
  for (int64_t item = begin; item < end; ++item) y[item] = x[taken_row(shape, indices, item)];
}

// x: [outer, extent, inner], indices → [outer, count, inner]
void build_take(Builder& b, const Node& node) {
  TakeShape shape(b.shape(node.inputs[0]), b.shape(node.inputs[1]),
                  int(node.attrs.get<int64_t>("axis")));
  size_t width = size_t(shape.inner) * size_of(b.spec(node.inputs[0]).dtype);
  DType dtype = b.spec(node.inputs[1]).dtype;
  int x = b.plain(node.inputs[0]), indices = b.plain(node.inputs[1]);
  b.emit({"take", {x, indices}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    Indices which{p.in<void>(1), dtype};
    auto grain = kGrain / int64_t(width / 4 + 1) + 1;
    parallel_for(shape.outer * shape.count, grain, [&](int64_t begin, int64_t end) {
      if (width == 4)
        return take_elements(shape, which, p.in<uint32_t>(0), p.out<uint32_t>(2), begin, end);
      if (width == 1)
        return take_elements(shape, which, p.in<uint8_t>(0), p.out<uint8_t>(2), begin, end);
      for (int64_t item = begin; item < end; ++item)
        std::memcpy(p.out<char>(2) + size_t(item) * width,
                    p.in<char>(0) + size_t(taken_row(shape, which, item)) * width, width);
    });
  });
}

// indices, dy → dx. Every worker owns some rows and walks the indices that may name them, so that
// each row is summed in their order, whatever the size of the team.
void build_take_grad(Builder& b, const Node& node) {
  TakeShape shape(b.shape(node.outputs[0]), b.shape(node.inputs[0]),
                  int(node.attrs.get<int64_t>("axis")));
  int64_t rows = shape.outer * shape.extent, width = shape.inner;
  DType dtype = b.spec(node.inputs[0]).dtype;
  int indices = b.plain(node.inputs[0]), dy = b.plain(node.inputs[1]);
  auto add = kernels().binary[kAdd];
  b.emit({own_kernel(), {indices, dy}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    Indices which{p.in<void>(0), dtype};
    float* out = p.out<float>(2);
    parallel_team((rows + shape.outer * shape.count) * width, kGrain, [&](int worker, int workers) {
      Part mine = part_of(rows, worker, workers);
      if (mine.begin >= mine.end) return;
      std::memset(out + mine.begin * width, 0,
                  size_t((mine.end - mine.begin) * width) * sizeof(float));
      int64_t first = mine.begin / shape.extent * shape.count,
              last = ((mine.end - 1) / shape.extent + 1) * shape.count;
      for (int64_t item = first; item < last; ++item) {
        int64_t row = taken_row(shape, which, item);
        if (row < mine.begin || row >= mine.end) continue;
        if (width == 1)
          out[row] += p.in<float>(1)[item];
        else
          add(out + row * width, p.in<float>(1) + item * width, out + row * width, width);
      }
    });
  });
}

// --- argsort ---

// Unsigned keys in the order of the numbers; NaN is the largest, and the two zeros are one.
uint32_t order_key(float x) {
  if (std::isnan(x)) return ~0U;
  auto bits = std::bit_cast<uint32_t>(x == 0 ? 0.0F : x);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}
uint32_t order_key(int32_t x) { return uint32_t(x) ^ 0x80000000U; }
uint64_t order_key(int64_t x) { return uint64_t(x) ^ 0x8000000000000000U; }

// Sorted by key, then by place: what a stable sort gives, from one that need not be.
template <class Key>
struct Keyed {
  Key key;
  uint32_t place;
  friend bool operator<(const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
};

template <class T>
void argsort_row(const T* x, int32_t* order, int64_t n, int64_t k, bool descending,
                 Keyed<decltype(order_key(T()))>* keyed) {
  for (int64_t i = 0; i < n; ++i) {
    auto key = order_key(x[i]);
    keyed[i] = {descending ? ~key : key, uint32_t(i)};
  }
  // A heap of k where few are wanted.
  if (k < n / 8) {
    std::partial_sort(keyed, keyed + k, keyed + n);
  } else {
    if (k < n) std::nth_element(keyed, keyed + k, keyed + n);
    std::sort(keyed, keyed + k);
  }
  for (int64_t i = 0; i < k; ++i) order[i] = int32_t(keyed[i].place);
}

template <class T>
void build_argsort_of(Builder& b, const Node& node) {
  using Key = Keyed<decltype(order_key(T()))>;
  auto k = node.attrs.get<int64_t>("k");
  bool descending = node.attrs.get<bool>("descending");
  const Shape& shape = b.shape(node.inputs[0]);
  int64_t n = shape[-1], rows = shape.elements() / n;
  int x = b.plain(node.inputs[0]), y = b.define(node.outputs[0]);
  int keys = b.scratch(size_t(rows * n) * sizeof(Key));
  b.emit({own_kernel(), {x}, {y, keys}}, [=](Pointers p) {
    parallel_for(rows, kGrain / 8 / (n + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        argsort_row(p.in<T>(0) + row * n, p.out<int32_t>(1) + row * k, n, k, descending,
                    p.out<Key>(2) + row * n);
    });
  });
}

void build_argsort(Builder& b, const Node& node) {
  switch (b.spec(node.inputs[0]).dtype) {
    case DType::int32:
      return build_argsort_of<int32_t>(b, node);
    case DType::int64:
      return build_argsort_of<int64_t>(b, node);
    default:
      return build_argsort_of<float>(b, node);
  }
}

// --- cumulate ---

// `Sum` is what a row is summed in.
template <class T, class Sum>
void build_cumulate_of(Builder& b, const Node& node) {
  const Shape& shape = b.shape(node.inputs[0]);
  int64_t n = shape[-1], rows = n == 0 ? 0 : shape.elements() / n;
  int64_t step = node.attrs.get_or("reverse", false) ? -1 : 1;
  bool scaled = node.inputs.size() == 2;
  std::vector<int> reads;
  for (int value : node.inputs) reads.push_back(b.plain(value));
  int y = b.define(node.outputs[0]);
  b.emit({own_kernel(), reads, {y}}, [=](Pointers p) {
    parallel_for(rows, kGrain / (n + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t at = row * n + (step < 0 ? n - 1 : 0);
        Sum carry = 0;
        for (int64_t i = 0; i < n; ++i, at += step) {
          if (scaled && i > 0) carry *= Sum(p.in<T>(1)[at]);
          carry += Sum(p.in<T>(0)[at]);
          p.out<T>(scaled ? 2 : 1)[at] = T(carry);
        }
      }
    });
  });
}

void build_cumulate(Builder& b, const Node& node) {
  switch (b.spec(node.inputs[0]).dtype) {
    case DType::int32:
      return build_cumulate_of<int32_t, uint32_t>(b, node);
    case DType::int64:
      return build_cumulate_of<int64_t, uint64_t>(b, node);
    default:
      return build_cumulate_of<float, double>(b, node);
  }
}

// --- segment_reduce ---

struct SegmentSum {
  template <class T>
  static T start() {
    return 0;
  }
  template <class T>
  static T join(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
    else
      return a + b;
  }
};
// NaN stays once it has been met.
struct SegmentMax {
  template <class T>
  static T start() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  template <class T>
  static T join(T a, T b) {
    return a >= b || a != a ? a : b;
  }
};
struct SegmentMin {
  template <class T>
  static T start() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <class T>
  static T join(T a, T b) {
    return a <= b || a != a ? a : b;
  }
};

// data: [n, width], ids: [n] → [rows, width]. Every worker owns some rows, as in take_grad.
template <class T, class Fn>
void build_segments(Builder& b, const Node& node) {
  const Shape& y = b.shape(node.outputs[0]);
  int64_t rows = y[0], width = y.elements() / rows, count = b.shape(node.inputs[1]).elements();
  DType dtype = b.spec(node.inputs[1]).dtype;
  int data = b.plain(node.inputs[0]), ids = b.plain(node.inputs[1]);
  b.emit({own_kernel(), {data, ids}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    Indices which{p.in<void>(1), dtype};
    T* out = p.out<T>(2);
    parallel_team((rows + count) * width, kGrain, [&](int worker, int workers) {
      Part mine = part_of(rows, worker, workers);
      std::fill(out + mine.begin * width, out + mine.end * width, Fn::template start<T>());
      for (int64_t item = 0; item < count; ++item) {
        int64_t row = which[item];
        if (row < mine.begin || row >= mine.end) continue;
        for (int64_t column = 0; column < width; ++column) {
          T& to = out[row * width + column];
          to = Fn::join(to, p.in<T>(0)[item * width + column]);
        }
      }
    });
  });
}

template <class T>
void build_segments_of(Builder& b, const Node& node) {
  const auto& fn = node.attrs.get<std::string>("fn");
  if (fn == "max") return build_segments<T, SegmentMax>(b, node);
  if (fn == "min") return build_segments<T, SegmentMin>(b, node);
  build_segments<T, SegmentSum>(b, node);
}

void build_segment_reduce(Builder& b, const Node& node) {
  switch (b.spec(node.inputs[0]).dtype) {
    case DType::int32:
      return build_segments_of<int32_t>(b, node);
    case DType::int64:
      return build_segments_of<int64_t>(b, node);
    default:
      return build_segments_of<float>(b, node);
  }
}

}  // namespace

void add_order_builders(OpBuilders& table) {
  table["take"] = {anything, build_take};
  table["take_grad"] = {integers, build_take_grad};
  table["argsort"] = {numbers, build_argsort};
  table["cumulate"] = {numbers, build_cumulate};
  table["segment_reduce"] = {numbers, build_segment_reduce};
}

}  // namespace stoker::cpu
