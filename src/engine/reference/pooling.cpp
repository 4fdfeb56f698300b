// x: [B, H, W, C], y: [B, H', W', C]. Padding is neither a maximum nor counted in a mean.
#include <cmath>
#include <limits>

#include "engine/reference/kernel.h"
#include "engine/reference/window.h"

namespace stoker::reference {

namespace {

// The first maximum of the window (NaN is the largest of all), or -1 when it lies in padding
// altogether.
int64_t first_maximum(const Array& x, const std::vector<int64_t>& elements) {
  int64_t best = elements.empty() ? -1 : elements[0];
  for (int64_t element : elements)
    if (!(x[element] <= x[best]) && !std::isnan(x[best])) best = element;
  return best;
}

void max_pool2d(const Call& call) {
  const Array& x = call.in(0);
  for_each_pool(call.attrs, x.shape(), call.out().shape(),
                [&](int64_t to, const std::vector<int64_t>& elements) {
                  int64_t best = first_maximum(x, elements);
                  call.out()[to] = best < 0 ? std::numeric_limits<float>::lowest() : x[best];
                });
}

void max_pool2d_grad(const Call& call) {
  const Array &x = call.in(0), &dy = call.in(2);
  Array& dx = call.out();
  bool relu = call.attrs.get_or<std::string>("activation", "") == "relu";
  for_each_pool(call.attrs, x.shape(), dy.shape(),
                [&](int64_t from, const std::vector<int64_t>& elements) {
                  int64_t best = first_maximum(x, elements);
                  if (best >= 0 && (!relu || x[best] > 0)) dx[best] += dy[from];
                });
}

void avg_pool2d(const Call& call) {
  const Array& x = call.in(0);
  for_each_pool(call.attrs, x.shape(), call.out().shape(),
                [&](int64_t to, const std::vector<int64_t>& elements) {
                  for (int64_t element : elements)
                    call.out()[to] += x[element] / Number(elements.size());
                });
}

void avg_pool2d_grad(const Call& call) {
  const Array& dy = call.in(0);
  Array& dx = call.out();
  for_each_pool(call.attrs, dx.shape(), dy.shape(),
                [&](int64_t from, const std::vector<int64_t>& elements) {
                  for (int64_t element : elements)
                    dx[element] += dy[from] / Number(elements.size());
                });
}

}  // namespace

void add_pooling_kernels(KernelTable& table) {
  table["max_pool2d"] = max_pool2d;
  table["max_pool2d_grad"] = max_pool2d_grad;
  table["avg_pool2d"] = avg_pool2d;
  table["avg_pool2d_grad"] = avg_pool2d_grad;
}

}  // namespace stoker::reference
