// Softmax and the losses on it: rows of the last axis, divided over the team.
#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

struct Rows {
  int64_t rows, n, grain;
  explicit Rows(const Shape& shape)
      : rows(shape[-1] == 0 ? 0 : shape.elements() / shape[-1]),
        n(shape[-1]),
        grain(kGrain / 8 / (n + 1) + 1) {}
};

using RowFunction = void (*)(const float*, float*, int64_t, int64_t);
using RowGradient = void (*)(const float*, const float*, float*, int64_t, int64_t);

// x → y
void build_rows(Builder& b, const Node& node, RowFunction function) {
  Rows shape(b.shape(node.inputs[0]));
  int in = b.plain(node.inputs[0]);
  int out = b.define_over(node.outputs[0], {}, {in});
  b.emit({own_kernel(), {in}, {out}}, [=](Pointers p) {
    parallel_for(shape.rows, shape.grain, [&](int64_t begin, int64_t end) {
      function(p.in<float>(0) + begin * shape.n, p.out<float>(1) + begin * shape.n, end - begin,
               shape.n);
    });
  });
}

// y, dy → dx
void build_rows_grad(Builder& b, const Node& node, RowGradient function) {
  Rows shape(b.shape(node.inputs[0]));
  int y = b.plain(node.inputs[0]), dy = b.plain(node.inputs[1]);
  int dx = b.define_over(node.outputs[0], {}, {dy, y});
  b.emit({own_kernel(), {y, dy}, {dx}}, [=](Pointers p) {
    parallel_for(shape.rows, shape.grain, [&](int64_t begin, int64_t end) {
      int64_t at = begin * shape.n;
      function(p.in<float>(0) + at, p.in<float>(1) + at, p.out<float>(2) + at, end - begin,
               shape.n);
    });
  });
}

// Labels as int64 with those that are no class counted as class 0.
template <class T>
void read_labels(const void* source, int64_t* labels, int64_t count, int64_t classes) {
  const T* from = static_cast<const T*>(source);
  for (int64_t i = 0; i < count; ++i)
    labels[i] = from[i] >= 0 && int64_t(from[i]) < classes ? int64_t(from[i]) : 0;
}

auto label_reader(DType dtype) {
  return dtype == DType::int32 ? read_labels<int32_t> : read_labels<int64_t>;
}

void build_softmax(Builder& b, const Node& node) { build_rows(b, node, kernels().softmax); }
void build_log_softmax(Builder& b, const Node& node) { build_rows(b, node, kernels().log_softmax); }
void build_softmax_grad(Builder& b, const Node& node) {
  build_rows_grad(b, node, kernels().softmax_grad);
}
void build_log_softmax_grad(Builder& b, const Node& node) {
  build_rows_grad(b, node, kernels().log_softmax_grad);
}

// logits: [.., C], labels: [..] → loss: [..]
void build_sparse_softmax_cross_entropy(Builder& b, const Node& node) {
  Rows shape(b.shape(node.inputs[0]));
  auto read = label_reader(b.spec(node.inputs[1]).dtype);
  int logits = b.plain(node.inputs[0]), labels = b.plain(node.inputs[1]);
  int clean = b.scratch(size_t(shape.rows) * sizeof(int64_t));
  b.emit({own_kernel(), {logits, labels}, {b.define(node.outputs[0]), clean}}, [=](Pointers p) {
    read(p.in<void>(1), p.out<int64_t>(3), shape.rows, shape.n);
    parallel_for(shape.rows, shape.grain, [&](int64_t begin, int64_t end) {
      kernels().sparse_cross_entropy(p.in<float>(0) + begin * shape.n, p.in<int64_t>(3) + begin,
                                     p.out<float>(2) + begin, end - begin, shape.n);
    });
  });
}

// logits, labels, dloss: [..] → dlogits
void build_sparse_softmax_cross_entropy_grad(Builder& b, const Node& node) {
  Rows shape(b.shape(node.inputs[0]));
  auto read = label_reader(b.spec(node.inputs[1]).dtype);
  int logits = b.plain(node.inputs[0]), labels = b.plain(node.inputs[1]),
      dloss = b.plain(node.inputs[2]);
  int clean = b.scratch(size_t(shape.rows) * sizeof(int64_t));
  int out = b.define_over(node.outputs[0], {}, {logits});
  b.emit({own_kernel(), {logits, labels, dloss}, {out, clean}}, [=](Pointers p) {
    read(p.in<void>(1), p.out<int64_t>(4), shape.rows, shape.n);
    parallel_for(shape.rows, shape.grain, [&](int64_t begin, int64_t end) {
      kernels().sparse_cross_entropy_grad(p.in<float>(0) + begin * shape.n,
                                          p.in<int64_t>(4) + begin, p.in<float>(2) + begin,
                                          p.out<float>(3) + begin * shape.n, end - begin, shape.n);
    });
  });
}

// logits, targets: [.., C] → loss: [..]
void build_softmax_cross_entropy(Builder& b, const Node& node) {
  Rows shape(b.shape(node.inputs[0]));
  int logits = b.plain(node.inputs[0]), targets = b.plain(node.inputs[1]);
  b.emit({own_kernel(), {logits, targets}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    parallel_for(shape.rows, shape.grain, [&](int64_t begin, int64_t end) {
      kernels().cross_entropy(p.in<float>(0) + begin * shape.n, p.in<float>(1) + begin * shape.n,
                              p.out<float>(2) + begin, end - begin, shape.n);
    });
  });
}

// logits, targets, dloss → dlogits
void build_softmax_cross_entropy_grad(Builder& b, const Node& node) {
  Rows shape(b.shape(node.inputs[0]));
  int logits = b.plain(node.inputs[0]), targets = b.plain(node.inputs[1]),
      dloss = b.plain(node.inputs[2]);
  int out = b.define_over(node.outputs[0], {}, {logits, targets});
  b.emit({own_kernel(), {logits, targets, dloss}, {out}}, [=](Pointers p) {
    parallel_for(shape.rows, shape.grain, [&](int64_t begin, int64_t end) {
      int64_t at = begin * shape.n;
      kernels().cross_entropy_grad(p.in<float>(0) + at, p.in<float>(1) + at, p.in<float>(2) + begin,
                                   p.out<float>(3) + at, end - begin, shape.n);
    });
  });
}

// logits, targets → loss, elementwise
void build_sigmoid_cross_entropy(Builder& b, const Node& node) {
  int64_t n = b.shape(node.inputs[0]).elements();
  int logits = b.plain(node.inputs[0]), targets = b.plain(node.inputs[1]);
  int out = b.define_over(node.outputs[0], {}, {logits, targets});
  b.emit({own_kernel(), {logits, targets}, {out}}, [=](Pointers p) {
    parallel_for(
        n, kGrain / 4,
        [&](int64_t begin, int64_t end) {
          kernels().sigmoid_cross_entropy(p.in<float>(0) + begin, p.in<float>(1) + begin,
                                          p.out<float>(2) + begin, end - begin);
        },
        16);
  });
}

}  // namespace

void add_softmax_builders(OpBuilders& table) {
  table["softmax"] = {floats, build_softmax};
  table["log_softmax"] = {floats, build_log_softmax};
  table["softmax_grad"] = {floats, build_softmax_grad};
  table["log_softmax_grad"] = {floats, build_log_softmax_grad};
  table["sparse_softmax_cross_entropy"] = {floats, build_sparse_softmax_cross_entropy};
  table["sparse_softmax_cross_entropy_grad"] = {floats, build_sparse_softmax_cross_entropy_grad};
  table["softmax_cross_entropy"] = {floats, build_softmax_cross_entropy};
  table["softmax_cross_entropy_grad"] = {floats, build_softmax_cross_entropy_grad};
  table["sigmoid_cross_entropy"] = {floats, build_sigmoid_cross_entropy};
}

}  // namespace stoker::cpu
