// x: [B, H, W, C], y: [B, H', W', C]. Padding is neither a maximum nor counted in a mean.
#include <cmath>
#include <limits>

#include "engine/reference/kernel.h"
#include "engine/reference/window.h"

namespace stoker::reference {

namespace {

Window pooling_window(const Attrs& attrs) {
  const auto& size = attrs.get<Ints>("window");
  return Window(attrs, size[0], size[1]);
}

// body(y position, positions in x of the window's elements, in row-major order)
template <class Body>
void for_each_window(const Attrs& attrs, const Shape& x, const Shape& y, Body body) {
  Window window = pooling_window(attrs);
  std::vector<int64_t> elements;
  for_each_pixel(y, [&](int64_t b, int64_t out_row, int64_t out_column) {
    elements.clear();
    window.for_each(out_row, out_column, x[1], x[2],
                    [&](int64_t row, int64_t column, int64_t, int64_t) {
                      elements.push_back(pixel(x, b, row, column));
                    });
    for (int64_t channel = 0; channel < x[3]; ++channel) {
      body(pixel(y, b, out_row, out_column) + channel, elements);
      for (int64_t& element : elements) ++element;
    }
  });
}

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
  for_each_window(call.attrs, x.shape(), call.out().shape(),
                  [&](int64_t to, const std::vector<int64_t>& elements) {
                    int64_t best = first_maximum(x, elements);
                    call.out()[to] = best < 0 ? std::numeric_limits<float>::lowest() : x[best];
                  });
}

void max_pool2d_grad(const Call& call) {
  const Array &x = call.in(0), &dy = call.in(2);
  Array& dx = call.out();
  bool relu = call.attrs.get_or<std::string>("activation", "") == "relu";
  for_each_window(call.attrs, x.shape(), dy.shape(),
                  [&](int64_t from, const std::vector<int64_t>& elements) {
                    int64_t best = first_maximum(x, elements);
                    if (best >= 0 && (!relu || x[best] > 0)) dx[best] += dy[from];
                  });
}

void avg_pool2d(const Call& call) {
  const Array& x = call.in(0);
  for_each_window(call.attrs, x.shape(), call.out().shape(),
                  [&](int64_t to, const std::vector<int64_t>& elements) {
                    for (int64_t element : elements)
                      call.out()[to] += x[element] / Number(elements.size());
                  });
}

void avg_pool2d_grad(const Call& call) {
  const Array& dy = call.in(0);
  Array& dx = call.out();
  for_each_window(call.attrs, dx.shape(), dy.shape(),
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
