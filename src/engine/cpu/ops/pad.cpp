#include <cstring>

#include "base/convert.h"
#include "base/visit_dtype.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/ops/strided.h"

namespace stoker::cpu {

namespace {

template <class T>
void build_pad_of(Builder& b, const Node& node) {
  const Shape &x = b.shape(node.inputs[0]), &y = b.shape(node.outputs[0]);
  const Ints& before = node.attrs.get<Ints>("before");
  T value = convert<T>(node.attrs.get_or<double>("value", 0));
  StridedLoop<2> loop;
  int64_t skip = 0;
  auto from = broadcast_strides(x, x), to = broadcast_strides(y, y);
  for (size_t d = 0; d < before.size(); ++d) {
    loop.append(x[int(d)], {to[d], from[d]});
    skip += before[d] * to[d];
  }
  int64_t elements = y.elements();
  bool empty = x.elements() == 0;
  int in = b.plain(node.inputs[0]);
  b.emit({"pad", {in}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    T* out = p.out<T>(1);
    parallel_for(
        elements, kGrain,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) out[i] = value;
        },
        64);
    if (empty) return;
    for_each_run(loop, [&](const auto& at, int64_t count) {
      const T* source = p.in<T>(0) + at[1];
      T* target = out + skip + at[0];
      int64_t from_step = loop.step(1), to_step = loop.step(0);
      for (int64_t i = 0; i < count; ++i) target[i * to_step] = source[i * from_step];
    });
  });
}

// x, with `before` and `after` elements of `value` around each axis → y
void build_pad(Builder& b, const Node& node) {
  visit_numeric(b.spec(node.inputs[0]).dtype,
                [&]<class T>(std::type_identity<T>) { build_pad_of<T>(b, node); });
}

}  // namespace

void add_pad_builders(OpBuilders& table) { table["pad"] = {anything, build_pad}; }

}  // namespace stoker::cpu
