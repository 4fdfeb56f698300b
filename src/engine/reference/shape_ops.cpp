// The same numbers at other places.
#include <algorithm>
#include <cstring>

#include "engine/reference/indexing.h"
#include "engine/reference/kernel.h"

namespace stoker::reference {

namespace {

void copy(const Call& call) { call.out().data = call.in(0).data; }

void bitcast(const Call& call) {
  Array& y = call.out();
  Tensor bytes = to_tensor(call.in(0)), other = Tensor(y.spec.dtype, y.spec.shape);
  std::memcpy(other.raw_mut(), bytes.raw(), size_t(y.size()) * size_of(y.spec.dtype));
  load(other, y);
}

void transpose(const Call& call) {
  const Array& x = call.in(0);
  Array& y = call.out();
  const auto& perm = call.attrs.get<Ints>("perm");
  for (int64_t i = 0; i < y.size(); ++i) {
    Index to = unravel(i, y.shape()), from{};
    for (size_t axis = 0; axis < perm.size(); ++axis) from[size_t(perm[axis])] = to[axis];
    y[i] = x[ravel(from, x.shape())];
  }
}

void concat(const Call& call) {
  Array& y = call.out();
  auto axis = size_t(call.attrs.get<int64_t>("axis"));
  int64_t before = 0;
  for (const Array* x : call.inputs) {
    for (int64_t i = 0; i < x->size(); ++i) {
      Index index = unravel(i, x->shape());
      index[axis] += before;
      y[ravel(index, y.shape())] = (*x)[i];
    }
    before += x->shape()[int(axis)];
  }
}

void slice(const Call& call) {
  const Array& x = call.in(0);
  Array& y = call.out();
  const auto& begin = call.attrs.get<Ints>("begin");
  for (int64_t i = 0; i < y.size(); ++i) {
    Index index = unravel(i, y.shape());
    for (size_t axis = 0; axis < begin.size(); ++axis) index[axis] += begin[axis];
    y[i] = x[ravel(index, x.shape())];
  }
}

void pad(const Call& call) {
  const Array& x = call.in(0);
  Array& y = call.out();
  const auto& before = call.attrs.get<Ints>("before");
  std::fill(y.data.begin(), y.data.end(), call.attrs.get_or<double>("value", 0));
  for (int64_t i = 0; i < x.size(); ++i) {
    Index index = unravel(i, x.shape());
    for (size_t axis = 0; axis < before.size(); ++axis) index[axis] += before[axis];
    y[ravel(index, y.shape())] = x[i];
  }
}

void broadcast_to(const Call& call) {
  const Array& x = call.in(0);
  Array& y = call.out();
  for (int64_t i = 0; i < y.size(); ++i)
    y[i] = x[broadcast_position(unravel(i, y.shape()), y.shape(), x.shape())];
}

}  // namespace

void add_shape_kernels(KernelTable& table) {
  table["reshape"] = copy;
  table["identity"] = copy;
  table["bitcast"] = bitcast;
  table["transpose"] = transpose;
  table["concat"] = concat;
  table["slice"] = slice;
  table["pad"] = pad;
  table["broadcast_to"] = broadcast_to;
}

}  // namespace stoker::reference
