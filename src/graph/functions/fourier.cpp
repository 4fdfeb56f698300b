// Fourier transforms as matrix products with the roots of unity.
#include <cmath>
#include <functional>
#include <numbers>

#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_fft.h>
#include <stoker/ops_math.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/graph.h"
#include "graph/op.h"
#include "graph/placement.h"

namespace stoker::ops {

namespace {

// Products of 16 bits would leave three digits: of a traced graph they are float32 here.
Complex in_float32(const char* what, const Complex& x,
                   const std::function<Complex(const Complex&)>& f) {
  Complex wide{emit::cast(x.real, DType::float32), emit::cast(x.imag, DType::float32)};
  if (!(wide.real.shape() == wide.imag.shape()) || wide.real.shape().rank() < 1)
    throw ShapeError(fmt::format("{}: expected two parts [.., n], got {} and {}", what,
                                 to_string(x.real.shape()), to_string(x.imag.shape())));
  Graph* graph = graph_of(what, {x.real, x.imag});
  if (graph == nullptr)
    throw Error(
        fmt::format("{}: it needs float32 products whatever the policy; call it inside a "
                    "Lambda, or the call() of a layer",
                    what));
  Graph::ComputeDtype exact(*graph, DType::float32);
  return f(wide);
}

struct Roots {
  Tensor real, imag;
};

// e^(sign · 2πi · row · column / n)
Roots roots(int64_t rows, int64_t columns, int64_t n, double sign) {
  Roots made{Tensor(DType::float32, {rows, columns}), Tensor(DType::float32, {rows, columns})};
  auto *real = made.real.data_mut<float>(), *imag = made.imag.data_mut<float>();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      double turn = 2 * std::numbers::pi * double(row * column % n) / double(n);
      real[row * columns + column] = float(std::cos(turn));
      imag[row * columns + column] = float(sign * std::sin(turn));
    }
  return made;
}

Complex times(const Complex& a, const Roots& b) {
  return {a.real * Value(b.real) - a.imag * Value(b.imag),
          a.real * Value(b.imag) + a.imag * Value(b.real)};
}

// The last axis by a matrix [n, m].
Complex product(const Complex& a, const Roots& b) {
  auto by = [](const Value& x, const Tensor& matrix) {
    return emit::matmul(x, Value(matrix), false, false);
  };
  return {by(a.real, b.real) - by(a.imag, b.imag), by(a.real, b.imag) + by(a.imag, b.real)};
}

Complex each(const Complex& x, const std::function<Value(const Value&)>& f) {
  return {f(x.real), f(x.imag)};
}

// The largest factor that is not above the root: a product of two halves is the cheapest.
int64_t factor_of(int64_t n) {
  for (auto factor = int64_t(std::sqrt(double(n))); factor > 1; --factor)
    if (n % factor == 0) return factor;
  return 1;
}

constexpr int64_t kDirect = 48;  // up to here one matrix is as cheap as two

// Cooley and Tukey: with n = p · q, x[q · a + b] and X[c + p · d]: transforms of p over a, roots of
// unity by b · c, transforms of q over b. x: [m, n]
Complex transformed(const Complex& x, double sign) {
  int64_t rows = x.real.shape()[0], n = x.real.shape()[1], p = factor_of(n), q = n / p;
  if (n <= kDirect || p == 1) return product(x, roots(n, n, n, sign));
  auto turned = [](const Value& v) { return emit::transpose(v, {0, 2, 1}); };
  // [m, a, b] → [m, b, a] → transforms over a: [m, b, c]
  Complex apart = each(x, [&](const Value& v) {
    return emit::reshape(turned(emit::reshape(v, {rows, p, q})), {rows * q, p});
  });
  Complex first = each(transformed(apart, sign), [&](const Value& v) {
    return emit::reshape(v, {rows, q, p});
  });
  Complex twisted = each(times(first, roots(q, p, n, sign)), [&](const Value& v) {
    return emit::reshape(turned(v), {rows * p, q});  // [m, c, b]
  });
  return each(transformed(twisted, sign), [&](const Value& v) {
    return emit::reshape(turned(emit::reshape(v, {rows, p, q})), {rows, n});  // [m, d, c]
  });
}

Complex last_axis(const char* what, const Complex& x, double sign, double scale) {
  return in_float32(what, x, [&](const Complex& wide) {
    Shape shape = wide.real.shape();
    int64_t n = shape[-1];
    if (n < 1)
      throw ShapeError(fmt::format("{}: there are no elements in {}", what, to_string(shape)));
    Complex y = transformed(each(wide,
                                 [&](const Value& v) {
                                   return emit::reshape(v, {shape.elements() / n, n});
                                 }),
                            sign);
    return each(y, [&](const Value& v) {
      Value back = emit::reshape(v, shape);
      return scale == 1 ? back : back * scale;
    });
  });
}

Complex last_two(const char* what, const Complex& x, double sign, bool scaled) {
  const Shape& shape = x.real.shape();
  if (shape.rank() < 2)
    throw ShapeError(fmt::format("{}: expected [.., n, m], got {}", what, to_string(shape)));
  auto swap = [](const Value& v) { return swapaxes(v, -1, -2); };
  Complex rows = last_axis(what, x, sign, scaled ? 1.0 / double(shape[-1]) : 1);
  Complex columns = last_axis(what, each(rows, swap), sign, scaled ? 1.0 / double(shape[-2]) : 1);
  return each(columns, swap);
}

// The last axis cut or filled up to n.
Value of_length(const Value& x, int64_t n) {
  int64_t have = x.shape()[-1];
  Ints none(size_t(x.shape().rank()), 0), size(none.size(), -1), more = none;
  size.back() = n;
  more.back() = n - have;
  if (have > n) return emit::slice(x, none, size);
  return have < n ? pad(x, none, more) : x;
}

}  // namespace

Complex fft(const Complex& x) { return last_axis("fft", x, -1, 1); }
Complex ifft(const Complex& x) { return last_axis("ifft", x, 1, 1.0 / double(x.real.shape()[-1])); }
Complex fft2(const Complex& x) { return last_two("fft2", x, -1, false); }
Complex ifft2(const Complex& x) { return last_two("ifft2", x, 1, true); }

Complex rfft(const Value& x, std::optional<int64_t> fft_length) {
  if (x.shape().rank() < 1) throw ShapeError("rfft: expected [.., n], got a scalar");
  Value real = of_length(float_of(x), fft_length.value_or(x.shape()[-1]));
  int64_t n = real.shape()[-1];
  Complex all = fft({real, zeros_like(real)});
  return each(all, [&](const Value& v) { return of_length(v, n / 2 + 1); });
}

// The other half is mirrored and conjugate.
Value irfft(const Complex& x, std::optional<int64_t> fft_length) {
  int64_t n = fft_length.value_or(2 * (x.real.shape()[-1] - 1)), half = n / 2 + 1;
  if (n < 1) throw ShapeError(fmt::format("irfft: expected 1 element or more, got {}", n));
  Complex low = each(x, [&](const Value& v) { return of_length(float_of(v), half); });
  Value keep = arange(Step(0), Step(half), Step(1), DType::float32);
  // The frequency 0, and of an even n the highest one, are real.
  Value is_real =
      n % 2 == 0 ? logical_or(equal(keep, 0.0), equal(keep, double(half - 1))) : equal(keep, 0.0);
  low.imag = where(is_real, 0.0, low.imag);
  std::vector<int32_t> mirror;
  for (int64_t i = half; i < n; ++i) mirror.push_back(int32_t(n - i));
  if (mirror.empty()) return ifft(low).real;
  Value places = Tensor::from(mirror, {int64_t(mirror.size())});
  Complex all{concatenate({low.real, take(low.real, places, -1)}, -1),
              concatenate({low.imag, -take(low.imag, places, -1)}, -1)};
  return ifft(all).real;
}

// --- short times ---

namespace {

// A window of the sequence's length in the middle of fft_length zeros.
Tensor stft_window(const char* what, const Stft& options) {
  if (options.sequence_length < 1 || options.sequence_stride < 1 ||
      options.fft_length < options.sequence_length)
    throw ValueError(
        fmt::format("{}: expected 1 <= sequence_length <= fft_length and a stride, got {}, {} "
                    "and {}",
                    what, options.sequence_length, options.fft_length, options.sequence_stride));
  if (options.window != "hann" && options.window != "hamming" && options.window != "none")
    throw ValueError(
        fmt::format("{}: window must be hann, hamming or none, got \"{}\"", what, options.window));
  // Without a window all elements count, as in Keras.
  if (options.window == "none") return Tensor::full({options.fft_length}, 1);
  Tensor window = Tensor::zeros({options.fft_length});
  int64_t left = (options.fft_length - options.sequence_length) / 2;
  double base = options.window == "hamming" ? 0.54 : 0.5;
  for (int64_t i = 0; i < options.sequence_length; ++i) {
    double turn = 2 * std::numbers::pi * double(i) / double(options.sequence_length);
    window.data_mut<float>()[left + i] = float(base - (1 - base) * std::cos(turn));
  }
  return window;
}

// `amount` elements mirrored at both ends, without the ends themselves.
Value mirrored(const Value& x, int64_t amount) {
  int64_t n = x.shape()[-1];
  if (amount >= n)
    throw ShapeError(
        fmt::format("stft: {} elements are too few to mirror {} of them; set "
                    ".center = false",
                    n, amount));
  std::vector<int32_t> places;
  for (int64_t i = -amount; i < n + amount; ++i)
    places.push_back(int32_t(i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i));
  return take(x, Tensor::from(places, {int64_t(places.size())}), -1);
}

}  // namespace

Complex stft(const Value& x, const Stft& options) {
  Tensor window = stft_window("stft", options);
  Value wide = options.center ? mirrored(float_of(x), options.fft_length / 2) : float_of(x);
  Value frames = extract_sequences(wide, options.fft_length, options.sequence_stride);
  return rfft(frames * Value(window));
}

// Windows are added up where they overlap and divided by the sum of their squares.
Value istft(const Complex& x, const Stft& options, std::optional<int64_t> length) {
  Tensor window = stft_window("istft", options);
  Value frames = irfft(x, options.fft_length) * Value(window);
  Shape shape = frames.shape();
  int64_t count = shape[-2], n = options.fft_length,
          total = (count - 1) * options.sequence_stride + n;
  std::vector<int32_t> places;
  std::vector<float> weights(static_cast<size_t>(total), 0);
  for (int64_t frame = 0; frame < count; ++frame)
    for (int64_t i = 0; i < n; ++i) {
      places.push_back(int32_t(frame * options.sequence_stride + i));
      weights[size_t(places.back())] += window.data<float>()[i] * window.data<float>()[i];
    }
  for (float& weight : weights) weight = weight > 1e-11F ? 1 / weight : 0;
  int64_t rows = shape.elements() / (count * n), placed = count * n;
  Value sums =
      apply1("take_grad", {Tensor::from(places, {placed}), emit::reshape(frames, {rows, placed})},
             {{"axis", int64_t(1)}, {"extent", total}});
  Value signal = sums * Value(Tensor::from(weights, {total}));
  int64_t cut = options.center ? n / 2 : 0;
  int64_t end = length ? cut + *length : total - cut;
  if (end > total) signal = pad(signal, {0, 0}, {0, end - total});
  signal = emit::slice(signal, {0, cut}, {rows, end - cut});
  Ints dims(shape.begin(), shape.end() - 1);
  dims.back() = end - cut;
  return emit::reshape(signal, Shape(std::span<const int64_t>(dims)));
}

}  // namespace stoker::ops
