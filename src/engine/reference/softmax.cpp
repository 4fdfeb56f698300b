// Softmax over the last axis, and the losses that begin with it. logits: [N, C] after folding the
// leading axes.
#include <algorithm>
#include <cmath>

#include "engine/reference/indexing.h"
#include "engine/reference/kernel.h"

namespace stoker::reference {

namespace {

// log(sum(exp(row))), safe for large numbers.
Number log_sum_exp(const Number* row, int64_t classes) {
  Number largest = *std::max_element(row, row + classes);
  Number sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(row[c] - largest);
  return largest + std::log(sum);
}

// body(row index, that row of x) for every row of the last axis.
template <class Body>
void for_each_row(const Array& x, Body body) {
  auto [rows, classes] = Rows(x.shape());
  for (int64_t row = 0; row < rows && classes > 0; ++row)
    body(row, x.data.data() + row * classes, classes);
}

void softmax(const Call& call) {
  for_each_row(call.in(0), [&](int64_t row, const Number* x, int64_t classes) {
    Number normalizer = log_sum_exp(x, classes);
    for (int64_t c = 0; c < classes; ++c)
      call.out()[row * classes + c] = std::exp(x[c] - normalizer);
  });
}

void softmax_grad(const Call& call) {
  for_each_row(call.in(0), [&](int64_t row, const Number* y, int64_t classes) {
    const Number* dy = call.in(1).data.data() + row * classes;
    Number product = 0;
    for (int64_t c = 0; c < classes; ++c) product += dy[c] * y[c];
    for (int64_t c = 0; c < classes; ++c) call.out()[row * classes + c] = y[c] * (dy[c] - product);
  });
}

void log_softmax(const Call& call) {
  for_each_row(call.in(0), [&](int64_t row, const Number* x, int64_t classes) {
    Number normalizer = log_sum_exp(x, classes);
    for (int64_t c = 0; c < classes; ++c) call.out()[row * classes + c] = x[c] - normalizer;
  });
}

void log_softmax_grad(const Call& call) {
  for_each_row(call.in(0), [&](int64_t row, const Number* y, int64_t classes) {
    const Number* dy = call.in(1).data.data() + row * classes;
    Number sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += dy[c];
    for (int64_t c = 0; c < classes; ++c)
      call.out()[row * classes + c] = dy[c] - std::exp(y[c]) * sum;
  });
}

// A label that is no class counts as class 0.
int64_t class_of(Number label, int64_t classes) {
  return label >= 0 && label < Number(classes) ? int64_t(label) : 0;
}

void sparse_softmax_cross_entropy(const Call& call) {
  for_each_row(call.in(0), [&](int64_t row, const Number* logits, int64_t classes) {
    int64_t label = class_of(call.in(1)[row], classes);
    call.out()[row] = log_sum_exp(logits, classes) - logits[label];
  });
}

void sparse_softmax_cross_entropy_grad(const Call& call) {
  for_each_row(call.in(0), [&](int64_t row, const Number* logits, int64_t classes) {
    int64_t label = class_of(call.in(1)[row], classes);
    Number normalizer = log_sum_exp(logits, classes), dloss = call.in(2)[row];
    for (int64_t c = 0; c < classes; ++c)
      call.out()[row * classes + c] =
          dloss * (std::exp(logits[c] - normalizer) - (c == label ? 1 : 0));
  });
}

void softmax_cross_entropy(const Call& call) {
  for_each_row(call.in(0), [&](int64_t row, const Number* logits, int64_t classes) {
    const Number* targets = call.in(1).data.data() + row * classes;
    Number normalizer = log_sum_exp(logits, classes);
    for (int64_t c = 0; c < classes; ++c) call.out()[row] -= targets[c] * (logits[c] - normalizer);
  });
}

// Targets need not add up to one.
void softmax_cross_entropy_grad(const Call& call) {
  for_each_row(call.in(0), [&](int64_t row, const Number* logits, int64_t classes) {
    const Number* targets = call.in(1).data.data() + row * classes;
    Number normalizer = log_sum_exp(logits, classes), dloss = call.in(2)[row], sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += targets[c];
    for (int64_t c = 0; c < classes; ++c)
      call.out()[row * classes + c] = dloss * (sum * std::exp(logits[c] - normalizer) - targets[c]);
  });
}

void sigmoid_cross_entropy(const Call& call) {
  for (int64_t i = 0; i < call.out().size(); ++i) {
    Number x = call.in(0)[i], target = call.in(1)[i];
    call.out()[i] = std::max(x, Number(0)) - x * target + std::log1p(std::exp(-std::abs(x)));
  }
}

}  // namespace

void add_softmax_kernels(KernelTable& table) {
  table["softmax"] = softmax;
  table["softmax_grad"] = softmax_grad;
  table["log_softmax"] = log_softmax;
  table["log_softmax_grad"] = log_softmax_grad;
  table["sparse_softmax_cross_entropy"] = sparse_softmax_cross_entropy;
  table["sparse_softmax_cross_entropy_grad"] = sparse_softmax_cross_entropy_grad;
  table["softmax_cross_entropy"] = softmax_cross_entropy;
  table["softmax_cross_entropy_grad"] = softmax_cross_entropy_grad;
  table["sigmoid_cross_entropy"] = sigmoid_cross_entropy;
}

}  // namespace stoker::reference
