#include "base/convert.h"
#include "base/visit_dtype.h"
#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

using Convert = void (*)(const void* from, void* to, int64_t begin, int64_t end);

template <class From, class To>
void convert_range(const void* from, void* to, int64_t begin, int64_t end) {
  const From* source = static_cast<const From*>(from);
  To* target = static_cast<To*>(to);
  for (int64_t i = begin; i < end; ++i) target[i] = convert<To>(source[i]);
}

Convert converter(DType from, DType to) {
  if (from == DType::float32 && to == DType::bfloat16)
    return [](const void* x, void* y, int64_t begin, int64_t end) {
      kernels().to_bfloat16(static_cast<const float*>(x) + begin, static_cast<uint16_t*>(y) + begin,
                            end - begin);
    };
  if (from == DType::bfloat16 && to == DType::float32)
    return [](const void* x, void* y, int64_t begin, int64_t end) {
      kernels().from_bfloat16(static_cast<const uint16_t*>(x) + begin,
                              static_cast<float*>(y) + begin, end - begin);
    };
  return visit_numeric(from, [&]<class From>(std::type_identity<From>) {
    return visit_numeric(
        to, [&]<class To>(std::type_identity<To>) -> Convert { return convert_range<From, To>; });
  });
}

// x → y
void build_cast(Builder& b, const Node& node) {
  int x = node.inputs[0], y = node.outputs[0];
  if (b.spec(x).dtype == b.spec(y).dtype) return b.define_alias(y, x);
  Convert function = converter(b.spec(x).dtype, b.spec(y).dtype);
  int64_t n = b.shape(x).elements();
  int in = b.plain(x);
  b.emit({"cast", {in}, {b.define(y)}}, [=](Pointers p) {
    parallel_for(
        n, kGrain,
        [&](int64_t begin, int64_t end) { function(p.in<void>(0), p.out<void>(1), begin, end); },
        64);
  });
}

}  // namespace

void add_cast_builders(OpBuilders& table) { table["cast"] = {anything, build_cast}; }

}  // namespace stoker::cpu
