// recurrent and its gradient, step by step. x: [B, T, F], gates: [B, T, gates, units].
#include <cmath>

#include "engine/reference/kernel.h"
#include "graph/ops/recurrent.h"

namespace stoker::reference {

namespace {

using Numbers = std::vector<Number>;

Number logistic(Number x) { return 1 / (1 + std::exp(-x)); }

// Everything that a layer computes on its way forward.
struct RecurrentForward {
  RecurrentShape s;
  const Call& call;
  Numbers gates;  // after their activations; a gru's third is the candidate
  Numbers inner;  // of a gru: h · R + bias of the candidate, before the reset gate
  Numbers h, c;   // [T + 1, B, H], by number of the step
  Numbers y;      // [B, T, H]

  static std::vector<TensorSpec> specs(const Call& call) {
    std::vector<TensorSpec> found;
    for (const Array* input : call.inputs) found.push_back(input->spec);
    return found;
  }

  explicit RecurrentForward(const Call& made) : s(made.attrs, specs(made)), call(made) {
    int64_t states = s.batch * s.units;
    gates.assign(size_t(s.steps() * s.columns()), 0);
    inner.assign(size_t(s.steps() * s.units), 0);
    h.assign(size_t((s.length + 1) * states), 0);
    c = h;
    y.assign(size_t(s.steps() * s.units), 0);
    for (int64_t i = 0; i < states; ++i) {
      h[size_t(i)] = call.in(4)[i];
      if (s.cell == Cell::lstm) c[size_t(i)] = call.in(5)[i];
    }
    for (int64_t step = 0; step < s.length; ++step)
      for (int64_t row = 0; row < s.batch; ++row) run(step, row);
  }

  bool counts(int64_t row, int64_t t) const {
    return !s.masked || call.in(s.mask())[row * s.length + t] != 0;
  }
  int64_t state(int64_t step, int64_t row) const { return (step * s.batch + row) * s.units; }
  int64_t gate(int64_t row, int64_t t) const { return (row * s.length + t) * s.columns(); }

  // x · W and h · R of one column, without biases.
  Number product(const Array& matrix, const Number* vector, int64_t extent, int64_t column) const {
    Number sum = 0;
    for (int64_t i = 0; i < extent; ++i) sum += vector[i] * matrix[i * s.columns() + column];
    return sum;
  }

  void run(int64_t step, int64_t row) {
    int64_t t = s.at(step), from = state(step, row), to = state(step + 1, row);
    if (!counts(row, t)) return keep(step, row, t);
    const Number* x = call.in(0).data.data() + (row * s.length + t) * s.features;
    const Array& bias = call.in(3);
    for (int64_t column = 0; column < s.columns(); ++column) {
      Number input = product(call.in(1), x, s.features, column) + bias[column];
      Number recurrent = product(call.in(2), h.data() + from, s.units, column);
      if (s.cell == Cell::gru) recurrent += bias[s.columns() + column];
      bool candidate = s.cell == Cell::gru && column >= 2 * s.units;
      if (candidate) inner[size_t((row * s.length + t) * s.units + column % s.units)] = recurrent;
      Number reset = candidate ? gates[size_t(gate(row, t) + column - s.units)] : Number(1);
      gates[size_t(gate(row, t) + column)] = activate(column / s.units, input + reset * recurrent);
    }
    for (int64_t unit = 0; unit < s.units; ++unit) advance(row, t, unit, from, to);
  }

  Number activate(int64_t which, Number x) const {
    switch (s.cell) {
      case Cell::lstm:
        return which == 2 ? std::tanh(x) : logistic(x);
      case Cell::gru:
        return which == 2 ? std::tanh(x) : logistic(x);
      case Cell::rnn_tanh:
        return std::tanh(x);
      case Cell::rnn_relu:
        return x < 0 ? Number(0) : x;
    }
    return x;
  }

  void advance(int64_t row, int64_t t, int64_t unit, int64_t from, int64_t to) {
    auto g = [&](int64_t which) { return gates[size_t(gate(row, t) + which * s.units + unit)]; };
    Number next = g(0);
    if (s.cell == Cell::lstm) {
      c[size_t(to + unit)] = g(1) * c[size_t(from + unit)] + g(0) * g(2);
      next = g(3) * std::tanh(c[size_t(to + unit)]);
    } else if (s.cell == Cell::gru) {
      next = g(0) * h[size_t(from + unit)] + (1 - g(0)) * g(2);
    }
    h[size_t(to + unit)] = next;
    y[size_t((row * s.length + t) * s.units + unit)] = next;
  }

  void keep(int64_t step, int64_t row, int64_t t) {
    for (int64_t unit = 0; unit < s.units; ++unit) {
      h[size_t(state(step + 1, row) + unit)] = h[size_t(state(step, row) + unit)];
      c[size_t(state(step + 1, row) + unit)] = c[size_t(state(step, row) + unit)];
      if (s.zero_masked || step == 0) continue;
      y[size_t((row * s.length + t) * s.units + unit)] =
          y[size_t((row * s.length + s.at(step - 1)) * s.units + unit)];
    }
  }
};

void recurrent(const Call& call) {
  RecurrentForward run(call);
  const RecurrentShape& s = run.s;
  call.out(0).data = run.y;
  for (int64_t i = 0; i < s.batch * s.units; ++i) {
    call.out(1)[i] = run.h[size_t(s.length * s.batch * s.units + i)];
    if (s.cell == Cell::lstm) call.out(2)[i] = run.c[size_t(s.length * s.batch * s.units + i)];
  }
}

// The way back, a row of the batch at a time.
class RecurrentBackward {
 public:
  explicit RecurrentBackward(const Call& call) : f_(call), s_(f_.s), call_(call) {}

  void run() {
    for (int64_t row = 0; row < s_.batch; ++row) run_row(row);
  }

 private:
  void run_row(int64_t row) {
    Numbers dh(size_t(s_.units)), dc(size_t(s_.units)), repeated(size_t(s_.units));
    for (int64_t unit = 0; unit < s_.units; ++unit) {
      dh[size_t(unit)] = call_.in(s_.dstate(0))[row * s_.units + unit];
      if (s_.cell == Cell::lstm) dc[size_t(unit)] = call_.in(s_.dstate(1))[row * s_.units + unit];
    }
    for (int64_t step = s_.length; step-- > 0;) {
      int64_t t = s_.at(step);
      bool counts = f_.counts(row, t);
      for (int64_t unit = 0; unit < s_.units; ++unit) {
        Number dy = call_.in(s_.dy())[(row * s_.length + t) * s_.units + unit];
        Number& waiting = repeated[size_t(unit)];  // of masked steps that repeat this one's output
        if (counts) {
          dh[size_t(unit)] += dy + waiting;
          waiting = 0;
        } else if (!s_.zero_masked) {
          waiting += dy;
        }
      }
      if (counts) run_step(row, step, dh, dc);
    }
    for (int64_t unit = 0; unit < s_.units; ++unit) {
      call_.out(4)[row * s_.units + unit] = dh[size_t(unit)];
      if (s_.cell == Cell::lstm) call_.out(5)[row * s_.units + unit] = dc[size_t(unit)];
    }
  }

  void run_step(int64_t row, int64_t step, Numbers& dh, Numbers& dc) {
    int64_t t = s_.at(step), from = f_.state(step, row);
    Numbers input(size_t(s_.columns())), recurrent(size_t(s_.columns())), before(size_t(s_.units));
    for (int64_t unit = 0; unit < s_.units; ++unit)
      gates_of(row, t, unit, step, dh[size_t(unit)], dc[size_t(unit)], input, recurrent, before);
    const Number* x = call_.in(0).data.data() + (row * s_.length + t) * s_.features;
    Number* dx = call_.out(0).data.data() + (row * s_.length + t) * s_.features;
    for (int64_t column = 0; column < s_.columns(); ++column) {
      auto di = input[size_t(column)], dr = recurrent[size_t(column)];
      for (int64_t i = 0; i < s_.features; ++i) {
        dx[i] += di * call_.in(1)[i * s_.columns() + column];
        call_.out(1)[i * s_.columns() + column] += di * x[i];
      }
      for (int64_t i = 0; i < s_.units; ++i) {
        before[size_t(i)] += dr * call_.in(2)[i * s_.columns() + column];
        call_.out(2)[i * s_.columns() + column] += dr * f_.h[size_t(from + i)];
      }
      call_.out(3)[column] += di;
      if (s_.cell == Cell::gru) call_.out(3)[s_.columns() + column] += dr;
    }
    dh = before;
  }

  // d(before the activations), for the product with x and for that with h; what reaches h directly.
  void gates_of(int64_t row, int64_t t, int64_t unit, int64_t step, Number dh, Number& dc,
                Numbers& input, Numbers& recurrent, Numbers& before) const {
    auto at = [&](int64_t which) { return size_t(which * s_.units + unit); };
    auto g = [&](int64_t which) { return f_.gates[size_t(f_.gate(row, t)) + at(which)]; };
    auto set = [&](int64_t which, Number d) { input[at(which)] = recurrent[at(which)] = d; };
    if (s_.cell == Cell::lstm) {
      Number after = std::tanh(f_.c[size_t(f_.state(step + 1, row) + unit)]);
      Number total = dc + dh * g(3) * (1 - after * after);
      set(0, total * g(2) * g(0) * (1 - g(0)));
      set(1, total * f_.c[size_t(f_.state(step, row) + unit)] * g(1) * (1 - g(1)));
      set(2, total * g(0) * (1 - g(2) * g(2)));
      set(3, dh * after * g(3) * (1 - g(3)));
      dc = total * g(1);
    } else if (s_.cell == Cell::gru) {
      Number candidate = dh * (1 - g(0)) * (1 - g(2) * g(2));
      Number q = f_.inner[size_t((row * s_.length + t) * s_.units + unit)];
      set(0, dh * (f_.h[size_t(f_.state(step, row) + unit)] - g(2)) * g(0) * (1 - g(0)));
      set(1, candidate * q * g(1) * (1 - g(1)));
      input[at(2)] = candidate;
      recurrent[at(2)] = candidate * g(1);
      before[size_t(unit)] = dh * g(0);
    } else {
      Number through = g(0) > 0 ? dh : 0;
      set(0, s_.cell == Cell::rnn_tanh ? dh * (1 - g(0) * g(0)) : through);
    }
  }

  RecurrentForward f_;
  const RecurrentShape& s_;
  const Call& call_;
};

void recurrent_grad(const Call& call) { RecurrentBackward(call).run(); }

}  // namespace

void add_recurrent_kernels(KernelTable& table) {
  table["recurrent"] = recurrent;
  table["recurrent_grad"] = recurrent_grad;
}

}  // namespace stoker::reference
